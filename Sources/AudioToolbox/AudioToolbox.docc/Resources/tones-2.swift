import AudioToolbox
import Foundation

let queue = try PlaybackQueue(.pcm(Float.self, sampleRate: 48000, channels: 1))
let tone = (0..<48000).map { sin(Float($0) * 2 * .pi * 440 / 48000) / 4 }
queue.volume = 0
queue.ramp(to: 1, over: 0.5)
try queue.start()
try await queue.write(tone)
try await queue.stopAfterPlaying()
