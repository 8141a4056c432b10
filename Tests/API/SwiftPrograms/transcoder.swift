// Converts a file to 16-bit WAVE with one channel at 16 kHz, as recognisers of speech take it.
//
// Usage: transcoder SOURCE DESTINATION

import AVFoundation

enum TranscoderError: Error {
  case format
  case converter
  case conversion(NSError?)
}

final class Transcoder {
  private let source: AVAudioFile
  private let converter: AVAudioConverter
  private let target: AVAudioFormat

  init(url: URL) throws {
    source = try AVAudioFile(forReading: url)
    guard
      let target = AVAudioFormat(
        commonFormat: .pcmFormatInt16, sampleRate: 16_000, channels: 1, interleaved: true)
    else { throw TranscoderError.format }
    guard let converter = AVAudioConverter(from: source.processingFormat, to: target) else {
      throw TranscoderError.converter
    }
    converter.downmix = true
    converter.sampleRateConverterQuality = AVAudioQuality.max.rawValue
    self.target = target
    self.converter = converter
  }

  func write(to url: URL) throws -> AVAudioFramePosition {
    let settings: [String: Any] = [
      AVFormatIDKey: Int(kAudioFormatLinearPCM),
      AVSampleRateKey: target.sampleRate,
      AVNumberOfChannelsKey: 1,
      AVLinearPCMBitDepthKey: 16,
      AVLinearPCMIsFloatKey: false,
      AVLinearPCMIsBigEndianKey: false,
      AVLinearPCMIsNonInterleaved: false,
    ]
    let file = try AVAudioFile(
      forWriting: url, settings: settings, commonFormat: .pcmFormatInt16, interleaved: true)

    let inputBlock: AVAudioConverterInputBlock = { [source] packets, outStatus in
      guard
        let buffer = AVAudioPCMBuffer(
          pcmFormat: source.processingFormat, frameCapacity: packets)
      else {
        outStatus.pointee = .noDataNow
        return nil
      }
      do {
        try source.read(into: buffer)
        outStatus.pointee = .haveData
        return buffer
      } catch {
        outStatus.pointee = .endOfStream
        return nil
      }
    }

    while true {
      guard let buffer = AVAudioPCMBuffer(pcmFormat: target, frameCapacity: 4096) else {
        throw TranscoderError.format
      }
      var error: NSError?
      let status = converter.convert(to: buffer, error: &error, withInputFrom: inputBlock)
      switch status {
      case .haveData, .inputRanDry:
        try file.write(from: buffer)
      case .endOfStream:
        return file.length
      case .error:
        throw TranscoderError.conversion(error)
      @unknown default:
        return file.length
      }
    }
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("Usage: transcoder SOURCE DESTINATION")
  exit(2)
}
do {
  let transcoder = try Transcoder(url: URL(fileURLWithPath: arguments[1]))
  let frames = try transcoder.write(to: URL(fileURLWithPath: arguments[2]))
  print("Transcoded to \(frames) frames")
} catch {
  print("Error: \(error.localizedDescription)")
  exit(1)
}
