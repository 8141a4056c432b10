import AVFoundation
import CoreFoundation
import TestSupport
import Testing

/// A scale of eight notes, and ways to play it. Notes begin and end at multiples of 64 frames, as FluidSynth's blocks
/// do, and of a tick of 480.
enum Scale {
  /// Frames from note to note, and of a note, at 48 kHz.
  static let step = 9600
  static let length = 8000
  static let keys: [UInt8] = [60, 62, 64, 65, 67, 69, 71, 72]
  static let velocity: UInt8 = 100
  /// Frames from the first note on.
  static let frames = step * 8

  static func beat(_ frame: Int) -> Double { Double(frame) / 24_000 }

  /// - Parameter frames: The frames on which the messages of the notes come.
  static func add(to track: AVMusicTrack, on frames: [Int] = messages.map(\.frame)) {
    for (i, key) in keys.enumerated() {
      let (begin, end) = (frames[2 * i], frames[2 * i + 1])
      track.addEvent(
        AVMIDINoteEvent(
          channel: 0, key: UInt32(key), velocity: UInt32(velocity), duration: beat(end - begin)),
        at: beat(begin))
    }
  }

  /// A MIDI file.
  static var file: Data {
    let sequencer = AVAudioSequencer()
    add(to: sequencer.createAndAppendTrack())
    return sequencer.data(withSMPTEResolution: 480, error: nil)
  }

  /// The messages with their frames.
  static var messages: [(frame: Int, bytes: [UInt8])] {
    keys.enumerated().flatMap { i, key in
      [(i * step, [0x90, key, velocity]), (i * step + length, [0x80, key, 0])]
    }
  }

  /// A sequence of the C functions.
  static func sequence() throws -> MusicSequence {
    var made: MusicSequence?
    expectEqual(NewMusicSequence(&made), noErr)
    let sequence = try require(made)
    var track: MusicTrack?
    expectEqual(MusicSequenceNewTrack(sequence, &track), noErr)
    for (i, key) in keys.enumerated() {
      var note = MIDINoteMessage(
        channel: 0, note: key, velocity: velocity, releaseVelocity: 0,
        duration: Float(beat(length)))
      expectEqual(MusicTrackNewMIDINoteEvent(try require(track), beat(i * step), &note), noErr)
    }
    return sequence
  }

  /// Returns an instrument that plays the default bank.
  static func instrument() -> AVAudioUnitMIDIInstrument {
    AVAudioUnitMIDIInstrument(
      audioComponentDescription: AudioComponentDescription("aumu", "dls "))
  }

  /// Returns an instrument that plays all programs of a SoundFont.
  static func synthesiser(_ font: String) throws -> AVAudioUnitMIDIInstrument {
    try findPlugins()
    let synth = instrument()
    try setBank(font, of: synth.audioUnit)
    return synth
  }

  static func setBank(_ font: String, of unit: AudioUnit) throws {
    let url = try require(CFURLCreateWithFileSystemPath(nil, font.cf, .cfurlposixPathStyle, false))
    let status = withUnsafePointer(to: url) {
      AudioUnitSetProperty(
        unit, kMusicDeviceProperty_SoundBankURL, kAudioUnitScope_Global, 0, $0,
        UInt32(MemoryLayout<CFURL>.size))
    }
    expectEqual(status, noErr)
  }

  /// An engine in manual rendering with an instrument.
  static func engine(_ font: String) throws -> (OfflineEngine, AVAudioUnitMIDIInstrument) {
    let offline = try OfflineEngine()
    let synth = try synthesiser(font)
    offline.engine.attach(synth)
    offline.engine.connect(synth, to: offline.engine.mainMixerNode, format: .standard())
    return (offline, synth)
  }

  /// Renders an `AVAudioSequencer` in manual rendering.
  ///
  /// - Parameter messages: The frames on which the messages of the notes come.
  static func offline(_ font: String, on messages: [Int] = messages.map(\.frame)) throws
    -> [[Float]]
  {
    let (offline, _) = try engine(font)
    let sequencer = AVAudioSequencer(audioEngine: offline.engine)
    add(to: sequencer.createAndAppendTrack(), on: messages)
    try sequencer.start()
    return try offline.render(frames)
  }
}
