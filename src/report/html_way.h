/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_HTML_WAY_H
#define REPORT_HTML_WAY_H

#include "report/html.h"

/* Fills the tree's steps and ways, sorted. 0 or -ENOMEM. */
int html_ways__make(struct html_tree *t);

#endif
