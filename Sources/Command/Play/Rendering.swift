import AudioQueue
import Codecs
import Files
import Graph
import PluginHost
import RealTime
import Sessions

/// An offline rendering of the sum of all players to a file (`cuejack play --render`).
///
/// The file appears under its name when it is complete.
struct Rendering {
  private let file: UnfinishedFile
  private let writer: SoundWriter
  /// The format that the queues render to and that is mixed: floats at the first file's rate.
  let format: PCMFormat
  /// Full scale of the file's integers; nil for floats, which are not clipped.
  private let fullScale: Double?
  /// The plugins that process the mix.
  private let effects: Effects?
  fileprivate static var framesAtOnce: Int { 16384 }
  /// True if a plugin's process has died and the plugin was bypassed.
  var hasLostPlugins: Bool { effects?.hasLostPlugins ?? false }

  /// Creates the file `path` for the sound of `files`. It has the rate and depth of the first file.
  /// It has the plugins' output channels, or else the largest number of channels among the files.
  init(
    _ path: String, of files: [SoundReader], through effects: Effects?, isReplacing: Bool
  ) throws(SoundFileError) {
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
    self.effects = effects
    var written = format
    if let effects { written.channels = effects.channels }
    let plan = try SoundWriter.Plan(
      path, container: kind.container,
      format: kind.stream(sampleRate: written.sampleRate, channels: written.channels), from: written
    )
    file = try UnfinishedFile(path, isReplacing: isReplacing)
    writer = try SoundWriter(file.store, plan)
  }

  /// The result of rendering.
  struct Result {
    var frames: Int64 = 0
    /// Samples that exceeded the file's full scale.
    var clipped: Int64 = 0
  }

  /// Renders all players to their ends, mixes them, and completes the file.
  ///
  /// - Parameters:
  ///   - players: Started players that render to `format`.
  ///   - isStopped: Called repeatedly; returns true to cancel.
  /// - Returns: Nil if cancelled.
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
      let samples = mix[..<(longest * format.channels)]
      try write(effects?.process(samples) ?? samples, &result)
    }
    while let effects, let rest = effects.takeRest() {
      if isStopped() { return nil }
      try write(rest, &result)
    }
    try file.naming(writer.close)
    try file.finish()
    return result
  }

  private func write(_ samples: ArraySlice<Float>, _ result: inout Result) throws {
    result.frames += Int64(samples.count / (effects?.channels ?? format.channels))
    result.clipped += clipped(samples)
    let written = unsafe samples.withUnsafeBytes { bytes in
      Swift.Result { () throws(SoundFileError) in try unsafe writer.write(bytes) }
    }
    try file.naming(written.get)
  }

  /// Returns the number of samples that exceed the file's full scale.
  private func clipped(_ samples: ArraySlice<Float>) -> Int64 {
    guard let fullScale else { return 0 }
    var count: Int64 = 0
    for sample in samples {
      let value = (Double(sample) * fullScale).rounded(.toNearestOrEven)
      if value > fullScale - 1 || value < -fullScale { count += 1 }
    }
    return count
  }

  /// Renders as many frames as fit, or all that remain.
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

/// Plugins that process a mix offline. Their latency is removed: the output begins with the mix's
/// first frame.
final class Effects {
  private let chain: PluginChain
  private let graph: OfflineGraph
  /// Frames still to drop at the start, and frames still to output after the mix ends.
  private var early: Int
  private var rest: Int

  var channels: Int { graph.channels }
  var hasLostPlugins: Bool { chain.hasLostPlugins }

  /// - Parameters:
  ///   - channels: Channels of the mix.
  ///   - tail: Frames to output after the mix ends.
  init(
    _ plugins: [PluginOption], channels: Int, sampleRate: Double, tail: Int
  ) throws {
    chain = try PluginChain(
      plugins, channels: channels, sampleRate: sampleRate, isOffline: true)
    let source = chain.graph.addSource(named: "files", channels: channels)
    try chain.graph.connect(source, to: chain.entrance)
    graph = try OfflineGraph(chain.graph, source: source)
    early = chain.latencyFrames
    rest = early + tail
  }

  func process(_ samples: ArraySlice<Float>) -> ArraySlice<Float> { cut(graph.run(samples)) }

  /// Returns the next block after the mix has ended; nil at the end.
  func takeRest() -> ArraySlice<Float>? {
    if rest == 0 { return nil }
    let frames = min(rest, Rendering.framesAtOnce)
    rest -= frames
    return cut(graph.run([], silence: frames))
  }

  /// Drops the frames that the plugins' latency puts before the mix.
  private func cut(_ samples: [Float]) -> ArraySlice<Float> {
    let frames = min(early, samples.count / channels)
    early -= frames
    return samples[(frames * channels)...]
  }
}
