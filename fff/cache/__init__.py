"""Rows and coverage on disk, for later runs.

    block driver, or shelf --> CachedSource --> source       source
                                  |
                               RowCache                      keeping: which sources, how long; what their answers depend on
                                  |
                               RowStore                      store: files of whole scans, bounds, damage
                                  |
                               Index                         index: answers by key, bodies, where the files are (SQLite)

What is kept is coverage with its rows: a scan that has ended whole covers its table, a lookup that was answered in full
covers its key, also one without rows. An answer that is truncated, broken off or holds bad records is never kept.

What is no longer fresh is asked for as before, but each request whose answer carried a validator asks for it only if it has
changed (replies). The rows are then made of the pages as the source has them now, sent or not.
"""
