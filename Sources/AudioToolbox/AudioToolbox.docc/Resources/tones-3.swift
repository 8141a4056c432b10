import AudioToolbox
import Foundation

/// A second of a tone.
func makeTone(_ frequency: Float) throws -> PlaybackQueue {
  try PlaybackQueue(Float.self, sampleRate: 48000, channels: 1) { frame, output in
    for i in frame..<min(48000, frame + output.freeCapacity) {
      output.append(sin(Float(i) * 2 * .pi * frequency / 48000) / 4)
    }
  }
}

let queues = [try makeTone(440), try makeTone(660)]
