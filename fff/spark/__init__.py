"""Everything above the eddy: Spark SQL over the blocks' results.

    batches ──► spool ──► session ──► bridge ──► JVM ──► Arrow result
                            │           (pyspark)  ▲
                         refresh                  jvm ── java, archive, scratch

`session` is what the engine uses: it starts Spark in a thread and answers queries. `spool` keeps a block's rows where
Spark can read them. `refresh` decides when the live view may ask again. `bridge` is the only module that imports
pyspark, and is imported once the JVM is already booting; `jvm` starts and ends that process; `java` finds a Java,
`archive` makes its start fast, and `scratch` holds the files that must not stay behind.
"""
