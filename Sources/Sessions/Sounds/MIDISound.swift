package import Files
import Graph
import PluginHost
package import RealTime
import Synchronization
import System

/// A Standard MIDI File as sound, which the SoundFont plugin renders when it is read. Any thread; reads wait for
/// each other.
///
/// A read at another frame than the next one begins anew: instruments and controllers are as the file has them
/// there, and notes that began earlier are silent.
package final class MIDISound: SoundSource {
  package let path: String
  /// Floats; the first two channels have the sound.
  package let format: PCMFormat
  package let frames: Int64
  private let song: MIDIFile
  private let choice: PluginChoice

  /// A run of the plugin from one frame on.
  @safe
  private struct Run: @unchecked Sendable {
    var track: MIDITrack?
    var graph: OfflineGraph?
    /// The next frame of the song.
    var next: Int64 = 0
    /// Messages that earlier runs have lost.
    var lost: UInt64 = 0
  }
  private let run = Mutex(Run())

  /// Seconds after the last event, in which notes fade.
  package static let tail = 3.0
  /// The rate, unless the user of the sound wants another one.
  private static let usualRate = 48_000.0
  /// A gap that is rendered rather than skipped, in frames.
  private static let shortGap: Int64 = 1 << 16

  /// Returns whether a file begins as a Standard MIDI File. Blocks.
  package static func isOne(_ path: String) -> Bool {
    let head = try? FileStore(path: path).bytes(at: 0, count: 4)
    return head == Array("MThd".utf8)
  }

  /// Reads the file, and loads the SoundFont. Blocks.
  ///
  /// - Parameters:
  ///   - soundFont: Path of the SoundFont; nil for the default.
  ///   - format: The rate and the channels; nil for the usual ones.
  package init(path: String, soundFont: String?, as format: PCMFormat? = nil) throws(SoundFileError)
  {
    self.path = path
    self.format = PCMFormat(
      sampleRate: format?.sampleRate ?? Self.usualRate, channels: max(2, format?.channels ?? 2),
      kind: .float, bitsPerSample: 32)
    do throws(MIDIFileError) { song = try MIDIFile(path: path) } catch {
      throw SoundFileError(
        .notSupported("the file cannot be played as MIDI: \(error.reason)"), path: path)
    }
    let rate = self.format.sampleRate
    frames = song.frame(at: song.end, sampleRate: rate) + Int64((Self.tail * rate).rounded())
    do throws(SoundFontError) {
      if let soundFont { _ = try SoundFontFile(path: soundFont) }
    } catch {
      throw SoundFileError(.notSupported("the file cannot be played: \(error)"), path: path)
    }
    var choice = PluginChoice(uri: SoundFontPlugin.uri)
    choice.file = soundFont
    self.choice = choice
    try run.withLock { run throws(SoundFileError) in try begin(&run, at: 0) }
  }

  package var faults: [String] {
    let lost = run.withLock { $0.lost + ($0.track?.lostMessages ?? 0) }
    return lost == 0
      ? [] : ["\(path): \(lost) messages came at once with too many others and were lost"]
  }

  /// Messages that are sent in a frame before a run begins.
  private static let messagesAtOnce = 8

  /// Begins a run at a frame.
  private func begin(_ run: inout Run, at frame: Int64) throws(SoundFileError) {
    run.lost += run.track?.lostMessages ?? 0
    var early: [MIDITrack.Message] = []
    var messages: [MIDITrack.Message] = []
    for message in song.messages {
      let time = song.frame(at: message.time, sampleRate: format.sampleRate)
      let isNote = song.bytes[message.offset] < 0xA0
      if time < frame && isNote { continue }
      let list = MIDITrack.Message(
        frame: time < frame ? Int64(early.count / Self.messagesAtOnce) : time - frame,
        offset: message.offset, count: message.count)
      if time < frame { early.append(list) } else { messages.append(list) }
    }
    let before = Int64((early.count + Self.messagesAtOnce - 1) / Self.messagesAtOnce)
    let shifted = messages.map {
      MIDITrack.Message(frame: $0.frame + before, offset: $0.offset, count: $0.count)
    }
    let track = MIDITrack(named: fileName(path), early + shifted, bytes: song.bytes)
    do throws(HostError) {
      let chain = try PluginChain(
        [choice], in: SoundFontPlugin.world(), channels: 2, sampleRate: format.sampleRate,
        isOffline: true, playing: track)
      let source = chain.graph.addSource(named: "silence", channels: 2)
      try chain.graph.connect(source, to: chain.entrance)
      let graph = try OfflineGraph(chain.graph, source: source)
      track.begin(at: graph.frame)
      if before > 0 { _ = graph.run([], silence: Int(before)) }
      run.track = track
      run.graph = graph
      run.next = frame
    } catch {
      throw SoundFileError(.notSupported("the file cannot be played: \(error)"), path: path)
    }
  }

  package func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames, count > 0 else { return 0 }
    let wanted = min(count, buffer.count / format.bytesPerFrame, Int(clamping: frames - frame))
    return try run.withLock { run throws(SoundFileError) in
      if frame < run.next || frame - run.next > Self.shortGap { try begin(&run, at: frame) }
      guard let graph = run.graph else { return 0 }
      if frame > run.next { _ = graph.run([], silence: Int(frame - run.next)) }
      let sound = graph.run([], silence: wanted)
      run.next = frame + Int64(wanted)
      let output = unsafe buffer.assumingMemoryBound(to: Float.self)
      for i in 0..<wanted {
        for channel in 0..<format.channels {
          unsafe output[i * format.channels + channel] =
            channel < 2 ? sound[i * graph.channels + min(channel, graph.channels - 1)] : 0
        }
      }
      return wanted
    }
  }
}

/// Opens a sound file, or a MIDI file as sound. Blocks.
///
/// - Parameters:
///   - soundFont: Path of the SoundFont for MIDI files; nil for the default.
///   - format: The format to convert to; nil for the file's own.
package func openSound(path: String, soundFont: String?, as format: PCMFormat? = nil)
  throws(SoundFileError) -> any SoundSource
{
  if MIDISound.isOne(path) {
    return try MIDISound(path: path, soundFont: soundFont, as: format)
  }
  return try SoundReader(path: path, as: format)
}
