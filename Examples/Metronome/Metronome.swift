// Clicks in time, by buffers that are scheduled to the frame.
//
// Usage: metronome BEATS-PER-MINUTE [BEATS [BEATS-OF-A-BAR]]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: metronome 120 16 4
//
// Some beats are scheduled ahead; each that is over schedules another one. The frame of a beat is computed from its number,
// so that no error adds up.

import AVFoundation
import Synchronization

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("metronome: \(text)\n".utf8))
  exit(code)
}

/// Schedules beats on a player. Any thread.
final class Metronome: Sendable {
  private let player = AVAudioPlayerNode()
  private let format: AVAudioFormat
  private let framesOfBeat: Double
  private let beats: Int
  private let beatsOfBar: Int
  private let next = Mutex(0)
  private let over = DispatchSemaphore(value: 0)

  init(_ engine: AVAudioEngine, perMinute: Double, beats: Int, beatsOfBar: Int) {
    let rate = engine.outputNode.outputFormat(forBus: 0).sampleRate
    format = AVAudioFormat(standardFormatWithSampleRate: rate, channels: 1)!
    framesOfBeat = rate * 60 / perMinute
    (self.beats, self.beatsOfBar) = (beats, beatsOfBar)
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: format)
  }

  /// Plays all beats, and returns when the last one was heard.
  func run() {
    for _ in 0..<4 { schedule() }
    player.play()
    over.wait()
  }

  private func schedule() {
    let beat = next.withLock { next in
      defer { next += 1 }
      return next
    }
    if beat >= beats { return }
    let time = AVAudioTime(
      sampleTime: AVAudioFramePosition((Double(beat) * framesOfBeat).rounded()),
      atRate: format.sampleRate)
    player.scheduleBuffer(
      click(beat % beatsOfBar == 0 ? 1760 : 880), at: time,
      completionCallbackType: .dataPlayedBack
    ) { [self] _ in
      if beat == beats - 1 { over.signal() } else { schedule() }
    }
  }

  /// A short tone that fades out.
  private func click(_ frequency: Double) -> AVAudioPCMBuffer {
    let frames = AVAudioFrameCount(format.sampleRate / 50)
    let buffer = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: frames)!
    buffer.frameLength = frames
    for frame in 0..<Int(frames) {
      let level = 0.5 * (1 - Double(frame) / Double(frames))
      buffer.floatChannelData![0][frame] = Float(
        level * cos(2 * .pi * frequency * Double(frame) / format.sampleRate))
    }
    return buffer
  }
}

let words = CommandLine.arguments.dropFirst().map { Double($0) }
guard (1...3).contains(words.count), let perMinute = words[0], (1...1000).contains(perMinute),
  words.allSatisfy({ $0.map { $0 >= 1 && $0 <= 1e6 } ?? false })
else { fail("usage: metronome BEATS-PER-MINUTE [BEATS [BEATS-OF-A-BAR]]", code: 64) }
let engine = AVAudioEngine()
guard engine.outputNode.outputFormat(forBus: 0).channelCount > 0 else { fail("there is no server") }
let metronome = Metronome(
  engine, perMinute: perMinute, beats: Int((words.count > 1 ? words[1] : nil) ?? 16),
  beatsOfBar: Int((words.count > 2 ? words[2] : nil) ?? 4))
do { try engine.start() } catch { fail(error.localizedDescription) }
metronome.run()
engine.stop()
