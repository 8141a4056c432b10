import AudioQueue
import Codecs
import Files
import Graph
import RealTime
import Sessions

/// An offline rendering of the sum of all players to a file (`cuejack play --render`).
///
/// The file appears under its name when it is complete.
struct Rendering {
  private let file: OutputTarget
  private let writer: SoundWriter
  /// The format that the queues render to and that is mixed.
  let format: PCMFormat
  /// The plugins that process the mix.
  private let effects: Effects?
  /// Channels that are written to the file, before it maps them to its own.
  var channels: Int { effects?.channels ?? format.channels }
  static var framesAtOnce: Int { 65536 }
  /// Messages of the MIDI file that the plugins did not receive.
  var lostMessages: UInt64 { effects?.lostMessages ?? 0 }
  /// True if a plugin's process has died and the plugin was bypassed.
  var hasLostPlugins: Bool { effects?.hasLostPlugins ?? false }

  /// The formats of a rendering: how the players' sound is mixed, and how it is written.
  struct Form {
    fileprivate let kind: SoundFormat
    /// The format that the queues render to: floats at the file's rate.
    let mix: PCMFormat
    fileprivate let bitRate: Int?

    /// Chooses the formats for the file `path`. It has the rate of the first file, and its depth in
    /// containers for linear PCM, unless the options say otherwise. Without files, it has 48000 Hz and 24
    /// bits.
    init(
      _ path: String, of files: [any SoundSource], _ options: RenderOptions
    ) throws(SoundFileError) {
      let path = OutputTarget.formatName(path, options.to)
      let first =
        files.first?.format
        ?? PCMFormat(sampleRate: 48000, channels: 1, kind: .signedInteger, bitsPerSample: 24)
      let isFloat = first.kind == .float
      let bits = isFloat ? 32 : max(16, first.bitsPerSample)
      kind = try SoundFormat(
        path: path, coding: options.format, bits: options.bits,
        pcm: .pcm(isFloat ? .float : .signedInteger, bits: bits),
        losslessBits: isFloat || bits > 16 ? 24 : 16)
      mix = PCMFormat(
        sampleRate: kind.usableRate(for: first.sampleRate),
        channels: files.map(\.format.channels).max() ?? first.channels, kind: .float,
        bitsPerSample: 32)
      bitRate = options.bitrate?.bitsPerSecond
    }
  }

  /// Creates the file `path`. It has the plugins' output channels, or those of the mix, as far as its
  /// format has room.
  init(
    _ path: String, _ form: Form, through effects: Effects?, isReplacing: Bool
  ) throws(SoundFileError) {
    format = form.mix
    self.effects = effects
    var written = format
    if let effects { written.channels = effects.channels }
    let channels = form.kind.usableChannels(for: written.channels)
    let stream = form.kind.stream(sampleRate: written.sampleRate, channels: channels)
    let plan = try SoundWriter.Plan(
      path, container: form.kind.container, format: stream, from: written,
      encoding: PacketEncoder.Options(bitRate: form.bitRate),
      mix: .fitting(written.channels, in: channels))
    file = try OutputTarget(
      path, plan.format, in: plan.container, isReplacing: isReplacing)
    writer = try SoundWriter(file.store, plan)
    tellOfRoles(stream, in: form.kind.container, of: path)
  }

  /// The result of rendering.
  struct Result {
    var frames: Int64 = 0
    /// Samples that the file could not hold.
    var faults = SampleFaults()
  }

  /// Renders all players to their ends, mixes them, and completes the file.
  ///
  /// - Parameters:
  ///   - players: Started players that render to `format`.
  ///   - report: Receives what is written.
  ///   - isStopped: Called repeatedly; returns true to cancel.
  /// - Returns: Nil if cancelled.
  func run(_ players: [FilePlayer], to report: RenderReport, isStopped: () -> Bool) throws
    -> Result?
  {
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
      try write(effects?.process(samples) ?? samples, &result, report)
    }
    while let effects, let rest = effects.takeRest() {
      if isStopped() { return nil }
      try write(rest, &result, report)
    }
    try file.naming(writer.close)
    try file.finish()
    result.faults = writer.faults
    return result
  }

  private func write(
    _ samples: ArraySlice<Float>, _ result: inout Result, _ report: RenderReport
  ) throws {
    result.frames += Int64(samples.count / channels)
    report.add(samples)
    let written = unsafe samples.withUnsafeBytes { bytes in
      Swift.Result { () throws(SoundFileError) in try unsafe writer.write(bytes) }
    }
    try file.naming(written.get)
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
