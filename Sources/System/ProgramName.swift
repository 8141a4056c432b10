internal import CGlibc

/// The file name of the running program, as a C string that lives as long as the process. Any thread.
@unsafe package var programName: UnsafePointer<CChar> { unsafe cue_program_name() }
