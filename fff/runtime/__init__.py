"""The rim of the core: asyncio carries out the eddy's instructions and feeds events back."""
