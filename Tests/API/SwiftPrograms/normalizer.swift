// Measures a file's peak and writes the file anew with a peak of one half.
//
// Usage: normalizer SOURCE DESTINATION

import AVFAudio
import AVFoundation

struct Level: Sendable {
  var peak: Float = 0
  var sum: Double = 0
  var frames: AVAudioFramePosition = 0
}

extension AVAudioPCMBuffer {
  func measure(into level: inout Level) {
    guard let data = floatChannelData else { return }
    for channel in 0..<Int(format.channelCount) {
      for sample in UnsafeBufferPointer(start: data[channel], count: Int(frameLength)) {
        level.peak = max(level.peak, abs(sample))
        level.sum += Double(sample) * Double(sample)
      }
    }
    level.frames += AVAudioFramePosition(frameLength)
  }

  func scaled(by gain: Float) -> AVAudioPCMBuffer? {
    guard let copy = self.copy() as? AVAudioPCMBuffer else { return nil }
    for channel in 0..<Int(copy.format.channelCount) {
      guard let samples = copy.floatChannelData?[channel] else { return nil }
      for frame in 0..<Int(copy.frameLength) { samples[frame * copy.stride] *= gain }
    }
    return copy
  }
}

/// Calls `body` with the whole file, a buffer at a time.
func forEachBuffer(of file: AVAudioFile, _ body: (AVAudioPCMBuffer) throws -> Void) throws {
  let buffer = AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: 1 << 12)!
  file.framePosition = 0
  while file.framePosition < file.length {
    try file.read(into: buffer)
    try body(buffer)
  }
}

guard AVCaptureDevice.authorizationStatus(for: .audio) == .authorized,
  await AVCaptureDevice.requestAccess(for: .audio)
else { exit(3) }

do {
  let url = URL(fileURLWithPath: CommandLine.arguments[1])
  let source = try AVAudioFile(forReading: url)
  let format = source.processingFormat
  assert(format == AVAudioFormat(settings: format.settings))

  var level = Level()
  try forEachBuffer(of: source) { $0.measure(into: &level) }
  guard level.peak > 0 else { throw CocoaError(.fileReadCorruptFile) }

  // The file is a non-interleaved float one for programs that pass on the settings of their buffers.
  let destination = try AVAudioFile(
    forWriting: URL(fileURLWithPath: CommandLine.arguments[2]), settings: format.settings,
    commonFormat: .pcmFormatFloat32, interleaved: false)
  let gain = 0.5 / level.peak
  try forEachBuffer(of: source) { buffer in
    if let scaled = buffer.scaled(by: gain) { try destination.write(from: scaled) }
  }

  let end = AVAudioTime(sampleTime: level.frames, atRate: format.sampleRate)
  let anchor = AVAudioTime(
    hostTime: mach_absolute_time(), sampleTime: 0, atRate: format.sampleRate)
  guard let time = end.extrapolateTime(fromAnchor: anchor) else { exit(4) }
  let seconds = AVAudioTime.seconds(forHostTime: time.hostTime - anchor.hostTime)
  print(String(format: "%.3f seconds, peak %.3f", seconds, level.peak))
} catch {
  print("Error: \((error as NSError).localizedDescription)")
  exit(1)
}
