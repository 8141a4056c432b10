import AudioQueue
import Codecs
import Files
import RealTime

/// What `cuejack play --render` makes: a file of what all players together would sound like.
///
/// The file appears under its name when it is complete.
struct Rendering {
  private let file: UnfinishedFile
  private let writer: SoundWriter
  /// What each queue renders to, and what is mixed: floats at the first file's rate.
  let format: PCMFormat
  /// Full scale of the file's integers; nil if it has floats, which have none.
  private let fullScale: Double?
  private static var framesAtOnce: Int { 16384 }

  /// Begins the file `path` for the sound of `files`: at the rate and depth of the first of them, with as
  /// many channels as any has.
  init(_ path: String, of files: [SoundReader], isReplacing: Bool) throws(SoundFileError) {
    guard let container = Container(forPath: path), container.holdsPCM else {
      throw SoundFileError(
        .cannotWrite("its name has to end in .wav, .aiff, .caf, .w64, .rf64 or .au"), path: path)
    }
    let first = files[0].format
    let isFloat = first.kind == .float
    format = PCMFormat(
      sampleRate: first.sampleRate, channels: files.map(\.format.channels).max() ?? 1, kind: .float,
      bitsPerSample: 32)
    let bits = isFloat ? 32 : max(16, first.bitsPerSample)
    fullScale = isFloat ? nil : Double(sign: .plus, exponent: bits - 1, significand: 1)
    let kind = SoundFormat(
      container, .pcm(isFloat ? .float : .signedInteger, bits: bits))
    let plan = try SoundWriter.Plan(
      path, container: kind.container,
      format: kind.stream(sampleRate: format.sampleRate, channels: format.channels), from: format)
    file = try UnfinishedFile(path, isReplacing: isReplacing)
    writer = try SoundWriter(file.store, plan)
  }

  /// What was written.
  struct Result {
    var frames: Int64 = 0
    /// Samples that were louder than the file can hold.
    var clipped: Int64 = 0
  }

  /// Renders all players to their ends, adds them up and completes the file.
  ///
  /// - Parameters:
  ///   - players: They were started and render to `format`.
  ///   - isStopped: Asked now and then: true to give it up.
  /// - Returns: Nil if it was given up.
  func run(_ players: [FilePlayer], isStopped: () -> Bool) throws -> Result? {
    let count = Self.framesAtOnce * format.channels
    var mix = [Float](repeating: 0, count: count)
    var voice = [Float](repeating: 0, count: count)
    var result = Result()
    while true {
      if isStopped() { return nil }
      var longest = 0
      for player in players {
        let frames = try render(player, &voice)
        let samples = frames * format.channels
        let common = min(samples, longest * format.channels)
        for i in 0..<common { mix[i] += voice[i] }
        for i in common..<samples { mix[i] = voice[i] }
        longest = max(longest, frames)
      }
      if longest == 0 { break }
      result.frames += Int64(longest)
      let samples = mix[..<(longest * format.channels)]
      result.clipped += clipped(samples)
      let written = unsafe samples.withUnsafeBytes { bytes in
        Swift.Result { () throws(SoundFileError) in try unsafe writer.write(bytes) }
      }
      try file.naming(written.get)
    }
    try file.naming(writer.close)
    try file.finish()
    return result
  }

  /// How many samples are louder than the file can hold.
  private func clipped(_ samples: ArraySlice<Float>) -> Int64 {
    guard let fullScale else { return 0 }
    var count: Int64 = 0
    for sample in samples {
      let value = (Double(sample) * fullScale).rounded(.toNearestOrEven)
      if value > fullScale - 1 || value < -fullScale { count += 1 }
    }
    return count
  }

  /// Renders as many frames as fit, or all that are left.
  private func render(_ player: FilePlayer, _ samples: inout [Float]) throws(QueueError) -> Int {
    let bytesPerFrame = format.bytesPerFrame
    let queue = player.queue
    let result = unsafe samples.withUnsafeMutableBytes { memory -> Swift.Result<Int, QueueError> in
      var done = 0
      do throws(QueueError) {
        while done < Self.framesAtOnce {
          let frames = try unsafe queue.render(
            frames: Self.framesAtOnce - done,
            into: .init(rebasing: memory[(done * bytesPerFrame)...]))
          if frames == 0 { break }
          done += frames
        }
        return .success(done)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
