// Loops four bars of chords through a SoundFont.
//
// Usage: loop-sequencer BEATS-PER-MINUTE [LOOPS [SOUNDFONT]]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: loop-sequencer 110 4
//
// Each note begins on its frame. Without LOOPS the bars have no end, and the program runs until it is interrupted.

import AVFoundation

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("loop-sequencer: \(text)\n".utf8))
  exit(code)
}

let words = Array(CommandLine.arguments.dropFirst())
let tempo = words.first.flatMap { Double($0) } ?? 0
let loops = words.count > 1 ? Int(words[1]) ?? 0 : AVMusicTrackLoopCount.forever.rawValue
guard (1...3).contains(words.count), (1...1000).contains(tempo), loops != 0 else {
  fail("usage: loop-sequencer BEATS-PER-MINUTE [LOOPS [SOUNDFONT]]", code: 64)
}
let engine = AVAudioEngine()
let sampler = AVAudioUnitSampler()
engine.attach(sampler)
// The rate of the server: nothing is converted.
let format = engine.mainMixerNode.outputFormat(forBus: 0)
guard format.channelCount > 0 else { fail("there is no server") }
engine.connect(sampler, to: engine.mainMixerNode, format: format)

/// C, A minor, F and G: a bar each.
let chords: [[UInt32]] = [
  [48, 55, 60, 64], [45, 52, 57, 60], [41, 48, 53, 57], [43, 50, 55, 59],
]
let beats = 4.0 * Double(chords.count)
let sequencer = AVAudioSequencer(audioEngine: engine)
sequencer.tempoTrack.addEvent(AVExtendedTempoEvent(tempo: tempo), at: 0)
let track = sequencer.createAndAppendTrack()
for (bar, chord) in chords.enumerated() {
  for eighth in 0..<8 {
    let note = AVMIDINoteEvent(
      channel: 0, key: chord[eighth % 4], velocity: eighth == 0 ? 110 : 80, duration: 0.4)
    track.addEvent(note, at: Double(bar) * 4 + Double(eighth) / 2)
  }
}
track.lengthInBeats = beats
track.loopRange = AVBeatRange(start: 0, length: beats)
track.numberOfLoops = loops
track.isLoopingEnabled = true

do {
  if words.count > 2 { try sampler.loadInstrument(at: URL(fileURLWithPath: words[2])) }
  try engine.start()
  try sequencer.start()
} catch { fail(error.localizedDescription) }
while loops < 0 || sequencer.currentPositionInBeats < beats * Double(loops) { usleep(20_000) }
sequencer.stop()
// The last note rings on.
sleep(1)
engine.stop()
