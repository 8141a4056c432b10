import Codecs
import FileSupport
import Foundation
import Testing

@Suite struct ResamplerTests {
  /// Passes all of `input` through a resampler in blocks of `block` frames.
  private func resample(
    _ input: [[Float]], from: Double, to: Double, block: Int, room: Int = 333
  ) throws -> [[Float]] {
    let resampler = try require(Resampler(from: from, to: to, channels: input.count))
    var output = [[Float]](repeating: [], count: input.count)
    let out = input.map { _ in UnsafeMutablePointer<Float>.allocate(capacity: room) }
    let feed = input.map { plane in
      let memory = UnsafeMutablePointer<Float>.allocate(capacity: plane.count)
      memory.initialize(from: plane, count: plane.count)
      return memory
    }
    defer { (out + feed).forEach { $0.deallocate() } }
    var at = 0
    while true {
      let count = min(block, input[0].count - at)
      let planes = feed.map { $0 + at }
      let (consumed, produced) = try resampler.process(
        count > 0 ? planes.withUnsafeBufferPointer { $0.baseAddress } : nil, frames: count,
        into: out.withUnsafeBufferPointer { $0.baseAddress! }, room: room)
      at += consumed
      for (i, plane) in out.enumerated() {
        output[i] += UnsafeBufferPointer(start: plane, count: produced)
      }
      if count == 0 && produced == 0 { return output }
    }
  }

  @Test(arguments: [(44100.0, 48000.0), (48000, 44100), (96000, 48000), (8000, 48000)])
  func aSineStaysASine(from: Double, to: Double) throws {
    let seconds = 2.0
    let frequency = 997.0
    let input = (0..<Int(from * seconds)).map {
      Float(sin(2 * .pi * frequency * Double($0) / from))
    }
    let output = try resample([input], from: from, to: to, block: 1000)[0]
    expectEqual(output.count, Int(to * seconds))
    // Away from the ends, where the filter overlaps silence.
    var noise = 0.0
    var signal = 0.0
    for i in Int(to / 4)..<Int(to * 1.75) {
      let ideal = sin(2 * .pi * frequency * Double(i) / to)
      noise += pow(Double(output[i]) - ideal, 2)
      signal += ideal * ideal
    }
    let ratio = 10 * log10(signal / noise)
    expectTrue(ratio > 120, "signal to noise is \(ratio) dB")
  }

  @Test func blocksMakeNoDifference() throws {
    let input = (1...2).map { (step: Int) -> [Float] in
      (0..<5000).map { (frame: Int) -> Float in Float(sin(Double(frame * step) * 0.05)) }
    }
    let whole = try resample(input, from: 44100, to: 48000, block: 5000, room: 10000)
    try require(!whole[0].isEmpty)
    for block in [1, 17, 441] {
      try expectEqual(resample(input, from: 44100, to: 48000, block: block, room: 64), whole)
    }
  }

  @Test func aResetBeginsANewStream() throws {
    let resampler = try require(Resampler(from: 44100, to: 48000, channels: 1))
    var input = [Float](repeating: 1, count: 2000)
    var output = [Float](repeating: 0, count: 4000)
    func run() throws -> [Float] {
      try input.withUnsafeMutableBufferPointer { input in
        try output.withUnsafeMutableBufferPointer { output in
          let i = [input.baseAddress!]
          let o = [output.baseAddress!]
          let produced = try resampler.process(i, frames: 2000, into: o, room: 4000).produced
          return Array(output.prefix(produced))
        }
      }
    }
    let first = try run()
    resampler.reset()
    expectTrue(try run() == first && !first.isEmpty)
  }

  @Test func ratesThatMakeNoSenseAreRefused() {
    expectNil(Resampler(from: 0, to: 48000, channels: 2))
    expectNil(Resampler(from: 48000, to: -1, channels: 2))
  }
}
