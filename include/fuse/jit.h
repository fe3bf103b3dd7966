// Everything that a program which embeds fuse needs.
#pragma once

#include <fuse/builders.h>
#include <fuse/config.h>
#include <fuse/dtype.h>
#include <fuse/error.h>
#include <fuse/graph.h>
#include <fuse/shape.h>
#include <fuse/target.h>
