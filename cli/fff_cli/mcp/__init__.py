"""`fff mcp`: SQL over web sources for agents, by the Model Context Protocol.

In: calls of tools, from one agent over standard input, or from several over HTTP on this machine.
Out: replies that say each time whether they are whole, and if not, what they lack.

    agents   What the tools do: tables found and described, statements run, more of their rows.
    command  The command and its options
    lines    Lines of standard input as they come, read so that nobody waits for the next one who is to end.
    replies  What the tools answer: the shapes of replies, and values as JSON has them.
    server   The tools as the protocol has them, and the two ways to reach them; the only importer of mcp.

The words are explained in docs/glossary.md.
"""
