package import CFFmpeg

/// FFmpeg's functions. The first use loads its libraries.
package let ffmpeg = unsafe cue_ffmpeg().pointee
