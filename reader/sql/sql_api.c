/*
 * The functions of SQLite, as it hands them to extensions. Extensions have no other way than a global variable; it is set before
 * anything else here is called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql.h"

#ifdef SQL_IS_BUILT

SQLITE_EXTENSION_INIT1

#endif
