"""The JVM behind Spark: found, started fast, ended for certain.

In: settings, a Java or none.
Out: a gateway to a JVM that is booting.

    cds_archive  The class-data-sharing archive
    java         Which Java runs Spark: the user's own where it will do
    jvm          The gateway JVM: started directly, silent, in a session of its own

The words are explained in docs/glossary.md.
"""
