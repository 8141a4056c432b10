import ArgumentParser
import Graph
import PluginHost
import RealTime

/// Plugins that process a mix offline. Their latency is removed: the output begins with the mix's
/// first frame.
final class Effects {
  private let chain: PluginChain
  private let graph: OfflineGraph
  /// Frames still to drop at the start, and frames that are to follow the end of the sound.
  private var early: Int
  private var rest: Int
  /// Frames that the mix still lacks to be as long as the MIDI file.
  private var missing: Int
  private let song: MIDISong?
  private let mixChannels: Int

  var channels: Int { graph.channels }
  var hasLostPlugins: Bool { chain.hasLostPlugins }

  /// - Parameters:
  ///   - channels: Channels of the mix.
  ///   - tail: Frames to output after the mix and the MIDI file end.
  ///   - delay: Frames by which the output is late.
  ///   - song: A MIDI file to play, from the mix's first frame on; nil for none.
  init(
    _ plugins: ChosenPlugins, channels: Int, sampleRate: Double, tail: Int,
    delay: Int, playing song: MIDISong?, _ maps: [ControllerMap]
  ) throws {
    chain = try PluginChain(
      plugins, channels: channels, sampleRate: sampleRate, isOffline: true,
      hearsControllers: !maps.isEmpty, playing: song?.track)
    do throws(HostError) {
      try chain.bind(maps)
      try chain.setDelay(frames: delay)
    } catch {
      Screen.shared.complain(plugins.world.words(for: error))
      throw ExitCode.failure
    }
    let source = chain.graph.addSource(named: "files", channels: channels)
    try chain.graph.connect(source, to: chain.entrance)
    graph = try OfflineGraph(chain.graph, source: source)
    early = chain.latencyFrames
    rest = early + tail + delay
    missing = song?.frames ?? 0
    self.song = song
    mixChannels = channels
    song?.track.begin(at: graph.frame)
  }

  /// Messages of the MIDI file that the plugins did not receive.
  var lostMessages: UInt64 { song?.track.lostMessages ?? 0 }

  func process(_ samples: ArraySlice<Float>) -> ArraySlice<Float> {
    missing = max(0, missing - samples.count / mixChannels)
    return cut(graph.run(samples))
  }

  /// Returns the next block after the mix has ended; nil at the end.
  func takeRest() -> ArraySlice<Float>? {
    if missing + rest == 0 { return nil }
    let frames = min(missing + rest, Rendering.framesAtOnce)
    rest -= max(0, frames - missing)
    missing -= min(missing, frames)
    return cut(graph.run([], silence: frames))
  }

  /// Drops the frames that the plugins' latency puts before the mix.
  private func cut(_ samples: [Float]) -> ArraySlice<Float> {
    let frames = min(early, samples.count / channels)
    early -= frames
    return samples[(frames * channels)...]
  }
}
