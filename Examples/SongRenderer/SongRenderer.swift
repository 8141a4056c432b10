// Writes a MIDI file as a WAV file, faster than it plays and without a server.
//
// Usage: song-renderer SONG OUTPUT [SOUNDFONT]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it: song-renderer song.mid song.wav piano.sf2
//
// Without a SoundFont the default bank plays the song. The file lasts three seconds longer than the song, in which the
// last notes ring on.

import AVFoundation
import CoreFoundation

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("song-renderer: \(text)\n".utf8))
  exit(code)
}

/// Returns an instrument of 16 channels.
func synthesiser(_ soundFont: String?) throws -> AVAudioUnitMIDIInstrument {
  let synth = AVAudioUnitMIDIInstrument(
    audioComponentDescription: AudioComponentDescription(
      componentType: kAudioUnitType_MusicDevice, componentSubType: kAudioUnitSubType_DLSSynth,
      componentManufacturer: kAudioUnitManufacturer_Apple, componentFlags: 0,
      componentFlagsMask: 0))
  guard let soundFont else { return synth }
  let path = CFStringCreateWithCString(nil, soundFont, CFStringBuiltInEncodings.UTF8.rawValue)
  let url = CFURLCreateWithFileSystemPath(nil, path, .cfurlposixPathStyle, false)!
  let status = withUnsafePointer(to: url) {
    AudioUnitSetProperty(
      synth.audioUnit, kMusicDeviceProperty_SoundBankURL, kAudioUnitScope_Global, 0, $0,
      UInt32(MemoryLayout<CFURL>.size))
  }
  if status != noErr { fail("\(soundFont) cannot be used: error \(status)") }
  return synth
}

let words = Array(CommandLine.arguments.dropFirst())
guard (2...3).contains(words.count) else {
  fail("usage: song-renderer SONG OUTPUT [SOUNDFONT]", code: 64)
}
do {
  let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channels: 2)!
  let engine = AVAudioEngine()
  try engine.enableManualRenderingMode(.offline, format: format, maximumFrameCount: 4096)
  let synth = try synthesiser(words.count > 2 ? words[2] : nil)
  engine.attach(synth)
  engine.connect(synth, to: engine.mainMixerNode, format: format)
  let sequencer = AVAudioSequencer(audioEngine: engine)
  try sequencer.load(from: URL(fileURLWithPath: words[0]))
  try engine.start()
  try sequencer.start()
  let seconds = sequencer.tracks.map(\.lengthInSeconds).max() ?? 0
  let length = AVAudioFramePosition(((seconds + 3) * format.sampleRate).rounded())
  let output = try AVAudioFile(
    forWriting: URL(fileURLWithPath: words[1]),
    settings: [
      AVFormatIDKey: kAudioFormatLinearPCM, AVSampleRateKey: 48000, AVNumberOfChannelsKey: 2,
      AVLinearPCMBitDepthKey: 32, AVLinearPCMIsFloatKey: true,
    ])
  let buffer = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 4096)!
  while engine.manualRenderingSampleTime < length {
    let left = length - engine.manualRenderingSampleTime
    let status = try engine.renderOffline(AVAudioFrameCount(min(left, 4096)), to: buffer)
    guard status == .success else { fail("rendering ended with \(status)") }
    try output.write(from: buffer)
  }
  output.close()
  print("\(length) frames")
} catch { fail(error.localizedDescription) }
