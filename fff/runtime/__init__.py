"""The rim of the core: asyncio carries out the eddy's instructions and feeds events back.

In: a block's plan, open tables.
Out: batches of result rows; its eddy's statistics.

    block_run       One running block of a statement
    driver          The asyncio driver: performs one eddy's instructions
    ending          When a run must end: a deadline or the first Ctrl-C stops fetching, then joining
    memory          What a run may hold in memory: beyond half of its limit rows and indexes go to files
    merged_events   What has come since the last turn, merged where events go together
    stall_detector  How long a scan lets its reader wait for a page

The words are explained in docs/glossary.md.
"""
