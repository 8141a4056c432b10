// Plays a sine, which a source node makes.
//
// Usage: signal-generator [HZ [SECONDS [DECIBELS]]]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: signal-generator 440 2 -12
//
// The block of the source node runs on JACK's process thread, where nothing may allocate or lock. So what it
// keeps between two calls lies in memory of its own.

import AVFoundation

let words = CommandLine.arguments.dropFirst().map { Double($0) }
guard words.count <= 3, !words.contains(nil) else {
  FileHandle.standardError.write(Data("usage: signal-generator [HZ [SECONDS [DECIBELS]]]\n".utf8))
  exit(64)
}
let numbers = words.compactMap { $0 } + [440, 2, -12].dropFirst(words.count)
let (frequency, seconds, level) = (numbers[0], numbers[1], pow(10, numbers[2] / 20))

let engine = AVAudioEngine()
let rate = engine.outputNode.outputFormat(forBus: 0).sampleRate
guard rate > 0, frequency > 0, frequency < rate / 2 else {
  FileHandle.standardError.write(
    Data("signal-generator: no server, or \(frequency) Hz is too high\n".utf8))
  exit(1)
}

/// The phase of the next frame, in turns.
let phase = UnsafeMutablePointer<Double>.allocate(capacity: 1)
phase.initialize(to: 0)

func makeSource(_ phase: UnsafeMutablePointer<Double>, step: Double, level: Double)
  -> AVAudioSourceNode
{
  AVAudioSourceNode { _, _, frameCount, list in
    let buffers = UnsafeMutableAudioBufferListPointer(list)
    for frame in 0..<Int(frameCount) {
      let sample = Float(level * sin(2 * .pi * phase.pointee))
      phase.pointee += step
      if phase.pointee >= 1 { phase.pointee -= 1 }
      for buffer in buffers {
        buffer.mData!.assumingMemoryBound(to: Float.self)[frame] = sample
      }
    }
    return noErr
  }
}

let source = makeSource(phase, step: frequency / rate, level: level)
engine.attach(source)
engine.connect(
  source, to: engine.mainMixerNode,
  format: AVAudioFormat(standardFormatWithSampleRate: rate, channels: 1))
do {
  try engine.start()
  print("\(frequency) Hz at \(numbers[2]) dB for \(seconds) s")
  Thread.sleep(forTimeInterval: seconds)
  engine.stop()
} catch {
  FileHandle.standardError.write(Data("signal-generator: \(error.localizedDescription)\n".utf8))
  exit(1)
}
