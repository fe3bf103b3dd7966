// Everything that a program which embeds fuse needs.
#pragma once

#include <fuse/buffer.h>
#include <fuse/builders.h>
#include <fuse/compile.h>
#include <fuse/config.h>
#include <fuse/dtype.h>
#include <fuse/error.h>
#include <fuse/executable.h>
#include <fuse/grad.h>
#include <fuse/graph.h>
#include <fuse/log.h>
#include <fuse/partition.h>
#include <fuse/report.h>
#include <fuse/scans.h>
#include <fuse/shape.h>
#include <fuse/target.h>
