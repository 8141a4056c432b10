// cairo, as Swift sees it: version 1.16 or later. Programs are not linked to it, but call its
// functions through a table of pointers, so that only a program that draws a picture needs the
// library.
#pragma once
#include <cairo/cairo-pdf.h>
#include <cairo/cairo-svg.h>
#include <fontconfig/fontconfig.h>

// As in cairo-ft.h, whose other declarations need the headers of FreeType.
cairo_font_face_t *cairo_ft_font_face_create_for_pattern(FcPattern *pattern);

// The functions that Cuejack calls.
struct cue_cairo_functions {
#define FUNCTION(name) __typeof__(name) *name
#include "functions.inc"
#undef FUNCTION
};

// Returns the functions; NULL if the library cannot be loaded. The first call loads it.
__attribute__((visibility("hidden"))) const struct cue_cairo_functions *cue_cairo(void);

// Returns why `cue_cairo` returned NULL.
__attribute__((visibility("hidden"))) const char *cue_cairo_fault(void);
