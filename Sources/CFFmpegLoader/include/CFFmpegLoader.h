// Loads FFmpeg's libraries when the first of their functions is called.
//
// libavformat brings more than a hundred other libraries with it. Loading them takes longer than
// everything else that a program does before it plays a file of linear PCM, so programs are not
// linked to it. functions.S defines each function of FFmpeg that Cuejack calls; the first call
// loads the libraries. The definitions are hidden: other libraries do not see them.
//
// Not for real-time threads.
#pragma once
