import AudioQueue
import Codecs
import Files
import Host
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
  /// What the mix goes through.
  private let effects: Effects?
  private static var framesAtOnce: Int { 16384 }
  /// A plugin's process is gone: sound passed it by.
  var hasLostPlugins: Bool { effects?.hasLostPlugins ?? false }

  /// Begins the file `path` for the sound of `files`: at the rate and depth of the first of them, with as
  /// many channels as any has, or as come out of plugins.
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

/// Plugins that a mix goes through on its way to a file: what comes out begins with the mix's first frame.
final class Effects {
  private let chain: PluginChain
  private let graph: OfflineGraph
  /// Frames that still come out before the sound, and those that come out after it.
  private var early: Int
  private var rest: Int

  var channels: Int { graph.channels }
  var hasLostPlugins: Bool { chain.hasLostPlugins }

  /// - Parameters:
  ///   - channels: Those of the mix.
  ///   - tail: Frames to go on for after the sound.
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

  /// The next piece of what comes after the sound; nil if that is all.
  func takeRest() -> ArraySlice<Float>? {
    if rest == 0 { return nil }
    let frames = min(rest, 16384)
    rest -= frames
    return cut(graph.run([], silence: frames))
  }

  /// Leaves out what the plugins' latency puts before the sound.
  private func cut(_ samples: [Float]) -> ArraySlice<Float> {
    let frames = min(early, samples.count / channels)
    early -= frames
    return samples[(frames * channels)...]
  }
}
