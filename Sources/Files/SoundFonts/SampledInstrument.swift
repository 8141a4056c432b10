import Codecs
import Glibc
import RealTime
import System

/// An instrument made of sound files: which keys and velocities each of them sounds at. A value.
///
/// The chunks 'inst' and 'smpl' of a WAVE file tell key, tuning, loop, keys and velocities. Without them
/// the name of the file does: by a note such as C#3 (C4 is key 60), and a layer such as v2. A file whose chunks and
/// name tell no key has key 60.
package struct SampledInstrument: Sendable {
  /// A sound file in the instrument.
  struct Zone: Sendable {
    let path: String
    /// The key at which the file sounds as it is.
    var key = 60
    /// Cents to add to the pitch.
    var cents = 0
    var keys: ClosedRange<Int>?
    var velocities: ClosedRange<Int>?
    /// The number of the layer in the name.
    var layer: Int?
    /// Frames that repeat.
    var loop: Range<Int>?
    let sampleRate: Double
    /// The samples of one or two channels.
    var channels: [[Float]] = []
  }
  private(set) var zones: [Zone] = []
  /// Most frames of all files together: four hours at 48 kHz.
  private static let mostFrames = 1 << 29

  /// Reads files. Blocks.
  package init(_ paths: [String]) throws(SoundFontError) {
    guard !paths.isEmpty else { throw SoundFontError("an instrument needs a sound file") }
    var frames = 0
    for path in paths {
      let zone: Zone
      do throws(SoundFileError) {
        zone = try Self.zone(path, room: Self.mostFrames - frames)
      } catch {
        throw SoundFontError("\(error)")
      }
      frames += zone.channels.reduce(0) { $0 + $1.count }
      zones.append(zone)
    }
    spread()
  }

  private static func zone(_ path: String, room: Int) throws(SoundFileError) -> Zone {
    let file = try MediaFiles.openAny(path: path)
    let count = try file.frameCount
    guard count > 0 else {
      throw SoundFileError(.notSupported("there is no sound in it"), path: path)
    }
    let channels = min(2, file.format.channels)
    guard count * Int64(channels) <= room else {
      throw SoundFileError(.notSupported("it is too long for an instrument"), path: path)
    }
    var zone = Zone(path: path, sampleRate: file.format.sampleRate)
    zone.channels = try samples(file, Int(count), channels)
    let frames = zone.channels[0].count
    let isTold = try zone.readChunks(frames)
    if !isTold { zone.readName() }
    return zone
  }

  /// Decodes the first channels of a file.
  private static func samples(_ file: any MediaFile, _ count: Int, _ channels: Int)
    throws(SoundFileError) -> [[Float]]
  {
    let format = PCMFormat(
      sampleRate: file.format.sampleRate, channels: file.format.channels, kind: .float,
      bitsPerSample: 32)
    var memory = [Float](repeating: 0, count: count * format.channels)
    let done = unsafe memory.withUnsafeMutableBytes { bytes in
      Result { () throws(MediaError) -> Int in
        var options = StreamConverter.Options()
        options.cookie = file.cookie
        let converter = try MediaError.conversion { () throws(StreamConverter.Failure) in
          try StreamConverter(from: file.format, to: .pcm(format), options)
        }
        guard let start = bytes.baseAddress, let buffers = unsafe SampleBuffers(format, at: [start])
        else { return 0 }
        var sink = StreamConverter.Sink.frames(buffers, room: count)
        try MediaReader(file).read(&sink, through: converter)
        return sink.count
      }
    }
    let frames: Int
    do throws(MediaError) { frames = try done.get() } catch {
      if case .file(let error) = error { throw error }
      throw SoundFileError(
        .notSupported("its sound cannot be converted: \(error)"), path: file.path)
    }
    return (0..<channels).map { channel in
      (0..<frames).map { memory[$0 * format.channels + channel] }
    }
  }

  /// Gives keys and velocities to files that have not told theirs.
  private mutating func spread() {
    let roots = Set(zones.filter { $0.keys == nil }.map(\.key)).sorted()
    for i in zones.indices where zones[i].keys == nil {
      let place = roots.firstIndex(of: zones[i].key) ?? 0
      // The middle between two files belongs to the upper one.
      let low = place == 0 ? 0 : (roots[place - 1] + roots[place] + 1) / 2
      let high =
        place == roots.count - 1 ? 127 : (roots[place] + roots[place + 1] + 1) / 2 - 1
      zones[i].keys = low...max(low, high)
    }
    for i in zones.indices where zones[i].velocities == nil {
      let layers = Set(zones.filter { $0.key == zones[i].key }.compactMap(\.layer)).sorted()
      guard let layer = zones[i].layer, let place = layers.firstIndex(of: layer),
        layers.count <= 127
      else {
        zones[i].velocities = 0...127
        continue
      }
      let low = place == 0 ? 0 : 127 * place / layers.count + 1
      zones[i].velocities = low...max(low, 127 * (place + 1) / layers.count)
    }
  }
}

extension SampledInstrument.Zone {
  /// Reads the chunks 'inst' and 'smpl' of a WAVE file. Returns false if it has neither.
  fileprivate mutating func readChunks(_ frames: Int) throws(SoundFileError) -> Bool {
    guard !PipedFile.isPipe(path) else { return false }
    let store = try FileStore(path: path)
    let riff = RIFFReader(store)
    guard try riff.kind() == "WAVE", let chunks = try? riff.chunks() else { return false }
    let sampler = Bytes(try riff.content("smpl", of: chunks) ?? [])
    let instrument = Bytes(try riff.content("inst", of: chunks) ?? [])
    func word(_ offset: Int) -> Int {
      Int(sampler.unsigned(at: offset, bytes: 4, bigEndian: false))
    }
    if sampler.count >= 36 {
      if word(12) < 128 { key = word(12) }
      // The fraction of a semitone by which the sound is higher than its key.
      cents = -Int((Double(word(16)) / 0x1_0000_0000 * 100).rounded())
      // Forward and alternating loops alike; the last frame belongs to the loop.
      if word(28) > 0, sampler.count >= 60, word(44) < word(48), word(48) < frames {
        loop = word(44)..<word(48) + 1
      }
    }
    if instrument.count >= 7 {
      func limited(_ first: Int) -> ClosedRange<Int>? {
        let (low, high) = (Int(instrument[first]), Int(instrument[first + 1]))
        return low <= high && high < 128 ? low...high : nil
      }
      if instrument[0] < 128 { key = Int(instrument[0]) }
      if sampler.count < 36 { cents = Int(Int8(bitPattern: instrument[1])) }
      keys = limited(3)
      velocities = limited(5)
    }
    return sampler.count >= 36 || instrument.count >= 7
  }

  /// Reads key and layer from the name.
  fileprivate mutating func readName() {
    let name = fileName(path)
    let note = #/(?:^|[^A-Za-z0-9#])([A-Ga-g])([#sb]?)(-?[0-9])(?![0-9])/#
    if let found = name.matches(of: note).last,
      let step = "c d ef g a b".firstIndex(of: Character(found.1.lowercased())),
      let octave = Int(found.3)
    {
      let steps = "c d ef g a b".distance(from: "c d ef g a b".startIndex, to: step)
      let shift = found.2 == "b" ? -1 : found.2.isEmpty ? 0 : 1
      let wanted = 12 * (octave + 1) + steps + shift
      if (0...127).contains(wanted) { key = wanted }
    }
    if let found = name.firstMatch(of: #/[vV]([0-9]{1,3})(?![0-9])/#) { layer = Int(found.1) }
  }
}
