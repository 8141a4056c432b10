// Makes the sound files of the demo and of the example sessions: three that belong together, in three formats and
// at two rates, and a click in their tempo.
//
//   make-sessions FOLDER

import CSndfile
import Foundation

/// Writes a sound as a file of the libsndfile format `format`; ends the program if that fails.
func write(_ sound: Sound, to path: String, format: Int) {
  var information = SF_INFO()
  information.samplerate = Int32(sound.rate)
  information.channels = 2
  information.format = Int32(format)
  guard let file = unsafe sf_open(path, Int32(SFM_WRITE), &information) else {
    fail("\(path) cannot be written: \(unsafe String(cString: sf_strerror(nil)))")
  }
  var samples: [Double] = []
  samples.reserveCapacity(2 * sound.left.count)
  for (left, right) in zip(sound.left, sound.right) { samples += [left, right] }
  let written = unsafe sf_writef_double(file, samples, Int64(sound.left.count))
  guard unsafe sf_close(file) == 0, written == sound.left.count else {
    fail("\(path) could not be written whole")
  }
  print(path)
}

func fail(_ reason: String) -> Never {
  FileHandle.standardError.write(Data("make-sessions: \(reason)\n".utf8))
  exit(1)
}

guard CommandLine.arguments.count == 2 else { fail("give the folder to write to") }
let folder = CommandLine.arguments[1]
do {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
} catch {
  fail("\(error)")
}
write(Music.bass(rate: 48000), to: "\(folder)/bass.aiff", format: SF_FORMAT_AIFF | SF_FORMAT_PCM_24)
write(
  Music.chords(rate: 44100), to: "\(folder)/chords.caf", format: SF_FORMAT_CAF | SF_FORMAT_FLOAT)
write(Music.click(rate: 48000), to: "\(folder)/click.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_16)
// Last: the Makefile takes this one as the sign that all are there.
write(Music.drums(rate: 48000), to: "\(folder)/drums.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_16)
