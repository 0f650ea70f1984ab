"""The JVM behind Spark: found, started fast, ended for certain.

In: settings, a Java or none.
Out: a gateway to a JVM that is booting.

    cds_archive  The class-data-sharing archive
    java         Which Java runs Spark: the user's own where it will do
    jvm          The gateway JVM: started directly, silent, in a session of its own
    keeper       The process that keeps a user's Spark up between commands
    remote       Whether a Spark Connect server can be reached
    warm         This user's Spark that stays up: attached to, or else started

The words are explained in docs/glossary.md.
"""
