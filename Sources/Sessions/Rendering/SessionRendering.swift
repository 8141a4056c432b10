import Codecs
import Files
import Graph
import PluginHost
import RealTime
import Server
import Synchronization
import System
import Timeline

/// A session rendered to files, faster than real time: the same queues and graph as on a JACK server, in
/// cycles that the rendering thread runs. Needs no server. One thread.
package final class SessionRendering {
  /// A file to be written: the sum of all ports, or the ports of one track or bus.
  private struct Output {
    let path: String
    let ports: [[String]]
    let file: UnfinishedFile
    let writer: SoundWriter
    var samples: [Float] = []
  }

  /// How the files are written.
  package struct Options: Sendable {
    /// Sample rate in Hz; nil for the session's, or else the first sound's.
    package var sampleRate: Double?
    /// Sample format or codec; nil for the container's usual one, or floats.
    package var coding: SoundCoding?
    package var bits: Int?
    /// Seconds to render after the last frame, for the tails of plugins.
    package var tail = 0.0
    /// Seconds to render at most; needed for endless loops.
    package var seconds: Double?
    /// Whether each track or bus that has ports of its own gets a file of its own.
    package var stems = false
    package var isReplacing = false
    /// The number of threads that run the chains of plugins.
    package var threads = 1
    package init() {}
  }

  /// The result of a file.
  package struct Result: Sendable {
    package let path: String
    package let frames: Int64
    /// Samples that exceeded the file's full scale.
    package let clipped: Int64
  }

  private let engine: SessionEngine
  private let client: RenderClient
  private var outputs: [Output] = []
  private let frames: Int64

  /// Brings the session up, and creates the files under temporary names.
  ///
  /// - Parameter path: The file to write; with stems, a name for each is put before its extension.
  package init(
    _ document: SessionDocument, in folder: SessionFolder, to path: String, _ options: Options,
    onMessage: @escaping @Sendable (String) -> Void
  ) throws(SessionRunError) {
    let rate = Self.rate(of: document, in: folder, options)
    let transport = document.transport
    let tempo = TransportTempo(
      bpm: transport.bpm, beatsPerBar: transport.beatsPerBar, beatUnit: transport.beatUnit)
    let server = RenderServer(sampleRate: rate, tempo: transport.mode == .none ? nil : tempo)
    engine = try SessionEngine(
      document, in: folder, on: server,
      SessionEngine.Options(
        clientName: "render", connectsToCard: false, threads: options.threads,
        onMessage: onMessage))
    guard let client = server.client else { throw .refused("the session has no client") }
    self.client = client
    var length = engine.renderedEnd
    if let seconds = options.seconds {
      length = min(length ?? .max, Int64(held: (seconds * rate).rounded()))
    }
    guard let length else {
      engine.close()
      throw .refused(
        "the session has no end, because a track loops: say how many seconds to render")
    }
    frames = length + Int64(held: (options.tail * rate).rounded())
    do throws(SessionRunError) {
      outputs = try Self.outputs(document, engine, path, rate, options)
      try warmUp()
    } catch {
      engine.close()
      throw error
    }
  }

  deinit { engine.close() }

  private static func rate(
    of document: SessionDocument, in folder: SessionFolder, _ options: Options
  ) -> Double {
    if let rate = options.sampleRate ?? document.sampleRate { return rate }
    // A file that is missing has no rate.
    let sounds = document.tracks.flatMap(\.files).lazy.compactMap {
      try? SoundReader(path: folder.location(of: $0))
    }
    return sounds.first?.format.sampleRate ?? 48000
  }

  private static func outputs(
    _ document: SessionDocument, _ engine: SessionEngine, _ path: String, _ rate: Double,
    _ options: Options
  ) throws(SessionRunError) -> [Output] {
    let tracks = engine.plan.trackOutlets.sorted { $0.key < $1.key }.map {
      (document.tracks[$0.key].name, $0.value.ports)
    }
    let buses = engine.plan.busOutlets.sorted { $0.key < $1.key }.map {
      (document.buses[$0.key].name, $0.value.ports)
    }
    let outlets = tracks + buses
    if outlets.isEmpty { throw .refused("the session has no tracks") }
    if !options.stems {
      return [try output(path, outlets.map(\.1), rate, options)]
    }
    var taken: Set<Name> = []
    var outputs: [Output] = []
    for (name, ports) in outlets {
      let stem = name.pathParts.joined(separator: "_")
      var file = "\(path.pathStem)-\(stem)\(path.pathExtension)"
      // A track and a bus may have one name.
      if !taken.insert(Name(file)).inserted {
        file = "\(path.pathStem)-\(stem)-bus\(path.pathExtension)"
      }
      outputs.append(try output(file, [ports], rate, options))
    }
    return outputs
  }

  private static func output(
    _ path: String, _ ports: [[String]], _ rate: Double, _ options: Options
  ) throws(SessionRunError) -> Output {
    try SessionRunError.file { () throws(SoundFileError) in
      let kind = try SoundFormat(
        path: path, coding: options.coding, bits: options.bits,
        pcm: .pcm(.float, bits: 32), losslessBits: 24)
      // A single channel goes to the first two of the sum.
      let widest = ports.map(\.count).max() ?? 1
      let channels = kind.usableChannels(for: ports.count > 1 ? max(2, widest) : widest)
      let input = PCMFormat(
        sampleRate: rate, channels: ports.count > 1 ? max(2, widest) : widest, kind: .float,
        bitsPerSample: 32)
      let stream = kind.stream(sampleRate: kind.usableRate(for: rate), channels: channels)
      let plan = try SoundWriter.Plan(
        path, container: kind.container, format: stream, from: input)
      let file = try UnfinishedFile(path, isReplacing: options.isReplacing)
      return Output(
        path: path, ports: ports, file: file, writer: try SoundWriter(file.store, plan),
        samples: [])
    }
  }

  /// Runs cycles of silence until all plugins have reported their latencies.
  private func warmUp() throws(SessionRunError) {
    for _ in 0..<1000 {
      let hasRun = engine.session.plugins.allSatisfy { $0.hasRun }
      if hasRun, engine.session.graph.isSettled { return }
      _ = client.cycle(frames: RenderServer.cycleFrames)
      _ = engine.session.graph.service()
    }
  }

  /// Renders all frames, and completes the files.
  ///
  /// - Parameter isStopped: Called for each cycle; returns true to cancel.
  /// - Returns: The results of the files; nil if cancelled.
  package func run(isStopped: () -> Bool) throws(SessionRunError) -> [Result]? {
    let latency = Int64(engine.session.latencyFrames)
    // The transport rolls with a cycle, as on a server.
    let cycle = Int64(RenderServer.cycleFrames)
    let begin = client.nextFrame + (latency + cycle - 1) / cycle * cycle
    client.rollTransport(at: begin)
    try engine.startRendering(at: begin)
    // The cycles before the start are silent.
    var frame = client.nextFrame
    var written: Int64 = 0
    while written < frames {
      if isStopped() { return nil }
      guard client.cycle(frames: RenderServer.cycleFrames) else {
        throw .refused("the session was closed while it was rendered")
      }
      _ = engine.session.graph.service()
      let first = max(0, Int(clamping: begin - frame))
      let count = min(RenderServer.cycleFrames - first, Int(clamping: frames - written))
      frame += Int64(RenderServer.cycleFrames)
      guard count > 0 else { continue }
      for index in outputs.indices { try write(&outputs[index], first, count) }
      written += Int64(count)
    }
    engine.close()
    var results: [Result] = []
    for output in outputs {
      try SessionRunError.file { () throws(SoundFileError) in
        try output.file.naming { () throws(SoundFileError) in try output.writer.close() }
        try output.file.finish()
      }
      results.append(
        Result(
          path: output.path, frames: output.writer.frames, clipped: output.writer.faults.clipped))
    }
    return results
  }

  /// Whether sound of a track is missing, or a plugin's process has ended.
  package var hasFailed: Bool {
    engine.players.indices.contains { !engine.failure(ofTrack: $0).isEmpty }
      || engine.session.plugins.contains { $0.isGone }
  }

  /// Adds the ports of an output up, and writes a part of the cycle.
  private func write(_ output: inout Output, _ first: Int, _ count: Int) throws(SessionRunError) {
    let channels = output.writer.input.channels
    output.samples = [Float](repeating: 0, count: count * channels)
    for ports in output.ports {
      for channel in 0..<channels {
        // A single port goes to the first two channels.
        let port = ports.count == 1 && channel < 2 ? 0 : channel
        guard ports.indices.contains(port) else { continue }
        _ = unsafe client.withSamples(of: ports[port]) { plane in
          for index in 0..<count {
            output.samples[index * channels + channel] += unsafe plane[first + index]
          }
        }
      }
    }
    let written = unsafe output.samples.withUnsafeBytes { bytes in
      Swift.Result { () throws(SoundFileError) in try unsafe output.writer.write(bytes) }
    }
    let file = output.file
    try SessionRunError.file { () throws(SoundFileError) in try file.naming(written.get) }
  }
}

extension SessionEngine {
  /// Frames by which groups start later when a session is rendered, by their numbers: those that wait for a
  /// beat. The others start with the first frame.
  private var renderedDelays: [Int: Int64] {
    var delays: [Int: Int64] = [:]
    for (number, group) in plan.groups.enumerated() {
      if case .beat(let beat) = group.group?.trigger {
        delays[number] = plan.timeline.frame(of: .beat(beat))
      }
    }
    return delays
  }

  /// Position after the last frame of all tracks when they are rendered; nil if one is endless.
  fileprivate var renderedEnd: Int64? {
    let (delays, document) = (renderedDelays, document)
    var end: Int64 = 0
    for (number, group) in plan.groups.enumerated() {
      for track in group.tracks {
        guard let last = plan.tracks[track].end else { return nil }
        let late = plan.timeline.frames(of: document.delay(ofTrack: track))
        end = max(end, last + (delays[number] ?? 0) + Int64(late))
      }
    }
    return end
  }

  /// Starts all groups for a rendering whose first frame is a device frame.
  fileprivate func startRendering(at frame: Int64) throws(SessionRunError) {
    try control.withLock { _ throws(SessionRunError) in
      _ = try begin(Array(plan.groups.indices), at: frame, later: renderedDelays)
    }
  }
}
