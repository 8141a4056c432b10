// Records what the sound card hears into a file, and prints the level of each second.
//
// Usage: tap-recorder FILE SECONDS
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: tap-recorder take.wav 10
//
// The block of a tap runs on a thread of the library, which may wait for the disk.

import AVFoundation

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data("tap-recorder: \(text)\n".utf8))
  exit(1)
}

/// A file, and the level of what came into it. The tap's thread alone uses it, until the tap is removed.
final class Take: @unchecked Sendable {
  private let file: AVAudioFile
  private var mostOfSecond: Float = 0
  private var framesOfSecond = 0
  private(set) var frames = 0

  init(_ url: URL, _ format: AVAudioFormat) throws {
    file = try AVAudioFile(
      forWriting: url,
      settings: [
        AVFormatIDKey: kAudioFormatLinearPCM, AVSampleRateKey: format.sampleRate,
        AVNumberOfChannelsKey: format.channelCount, AVLinearPCMBitDepthKey: 24,
      ])
  }

  func write(_ buffer: AVAudioPCMBuffer) {
    do { try file.write(from: buffer) } catch { fail(error.localizedDescription) }
    frames += Int(buffer.frameLength)
    framesOfSecond += Int(buffer.frameLength)
    for channel in 0..<Int(buffer.format.channelCount) {
      let samples = UnsafeBufferPointer(
        start: buffer.floatChannelData![channel], count: Int(buffer.frameLength))
      for sample in samples { mostOfSecond = max(mostOfSecond, abs(sample)) }
    }
    if Double(framesOfSecond) >= buffer.format.sampleRate {
      print(String(format: "%6.1f dB", 20 * log10(max(mostOfSecond, 1e-6))))
      (mostOfSecond, framesOfSecond) = (0, 0)
    }
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let seconds = Double(arguments[2]), seconds > 0 else {
  FileHandle.standardError.write(Data("usage: tap-recorder FILE SECONDS\n".utf8))
  exit(64)
}
let engine = AVAudioEngine()
let format = engine.inputNode.outputFormat(forBus: 0)
guard engine.inputNode.inputFormat(forBus: 0).channelCount > 0 else {
  fail("there is no server, or it has no inputs")
}
do {
  let take = try Take(URL(fileURLWithPath: arguments[1]), format)
  engine.inputNode.installTap(onBus: 0, bufferSize: 4096, format: nil) { buffer, _ in
    take.write(buffer)
  }
  try engine.start()
  Thread.sleep(forTimeInterval: seconds)
  engine.stop()
  // No block runs afterwards.
  engine.inputNode.removeTap(onBus: 0)
  print("\(take.frames) frames")
} catch {
  fail(error.localizedDescription)
}
