import System

extension SampledInstrument {
  /// Returns a SoundFont with the instrument as program 0 of bank 0.
  package func soundFont() -> [UInt8] {
    var parts = Parts()
    for zone in zones { parts.add(zone) }
    return parts.bytes(named: zones.first.map { fileName($0.path) } ?? "")
  }
}

/// The lists of a SoundFont.
private struct Parts {
  /// The upper 16 and the lower 8 bits of the samples.
  private var upper: [UInt8] = []
  private var lower: [UInt8] = []
  private var samples: [UInt8] = []
  private var sampleCount = 0
  private var generators: [UInt8] = []
  /// The first generator of each zone.
  private var zones: [UInt8] = []
  private var zoneCount = 0

  // The generators' numbers.
  private static let (pan, keys, velocities, instrument) = (17, 43, 44, 41)
  private static let (coarse, fine, sampleID, modes, root) = (51, 52, 53, 54, 58)

  mutating func add(_ zone: SampledInstrument.Zone) {
    let first = sampleCount
    for (channel, frames) in zone.channels.enumerated() {
      let isStereo = zone.channels.count == 2
      let start = upper.count / 2
      for frame in frames {
        let value = Int32((Double(frame) * 8_388_608).rounded().clamped(-8_388_608, 8_388_607))
        lower.append(UInt8(truncatingIfNeeded: value))
        upper += word(Int(value >> 8))
      }
      let end = upper.count / 2
      // Interpolation reads beyond the end.
      upper += [UInt8](repeating: 0, count: 92)
      lower += [UInt8](repeating: 0, count: 46)
      let loop = zone.loop ?? 0..<frames.count
      samples += text(fileName(zone.path)) + long(start) + long(end)
      samples += long(start + loop.lowerBound) + long(start + loop.upperBound)
      samples += long(Int(zone.sampleRate)) + [UInt8(zone.key), 0]
      samples += word(isStereo ? first + 1 - channel : 0)
      samples += word(isStereo ? (channel == 0 ? 4 : 2) : 1)
      addZone(zone, pan: isStereo ? (channel == 0 ? -500 : 500) : 0)
      sampleCount += 1
    }
  }

  private mutating func addZone(_ zone: SampledInstrument.Zone, pan: Int) {
    zones += word(generators.count / 4) + word(0)
    zoneCount += 1
    func range(_ range: ClosedRange<Int>?) -> Int {
      (range?.lowerBound ?? 0) | (range?.upperBound ?? 127) << 8
    }
    var list = [(Self.keys, range(zone.keys)), (Self.velocities, range(zone.velocities))]
    if pan != 0 { list.append((Self.pan, pan)) }
    if zone.cents / 100 != 0 { list.append((Self.coarse, zone.cents / 100)) }
    if zone.cents % 100 != 0 { list.append((Self.fine, zone.cents % 100)) }
    if zone.loop != nil { list.append((Self.modes, 1)) }
    list += [(Self.root, zone.key), (Self.sampleID, sampleCount)]
    for (number, value) in list { generators += word(number) + word(value) }
  }

  func bytes(named name: String) -> [UInt8] {
    let info =
      chunk("ifil", word(2) + word(4)) + chunk("isng", Array("EMU8000\0".utf8))
      + chunk("INAM", text(name))
    let sound = chunk("smpl", upper) + chunk("sm24", lower)
    let none = [UInt8](repeating: 0, count: 10)
    // Each list ends with an entry that marks its end.
    let rest = [UInt8](repeating: 0, count: 12)
    let presets =
      text(name) + word(0) + word(0) + word(0) + rest + text("EOP") + word(0) + word(0) + word(1)
      + rest
    let instruments = text(name) + word(0) + text("EOI") + word(zoneCount)
    let data =
      chunk("phdr", presets) + chunk("pbag", word(0) + word(0) + word(1) + word(0))
      + chunk("pmod", none) + chunk("pgen", word(Self.instrument) + word(0) + long(0))
      + chunk("inst", instruments)
      + chunk("ibag", zones + word(generators.count / 4) + word(0)) + chunk("imod", none)
      + chunk("igen", generators + long(0))
      + chunk("shdr", samples + text("EOS") + [UInt8](repeating: 0, count: 26))
    return chunk(
      "RIFF",
      Array("sfbk".utf8) + chunk("LIST", Array("INFO".utf8) + info)
        + chunk("LIST", Array("sdta".utf8) + sound) + chunk("LIST", Array("pdta".utf8) + data))
  }

  private func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array(name.utf8) + long(content.count) + content + (content.count % 2 == 0 ? [] : [0])
  }

  private func word(_ number: Int) -> [UInt8] { [UInt8](number, count: 2, bigEndian: false) }
  private func long(_ number: Int) -> [UInt8] { [UInt8](number, count: 4, bigEndian: false) }

  /// Returns a name of 20 bytes, which ends with a zero.
  private func text(_ name: String) -> [UInt8] {
    let bytes = Array(name.utf8.prefix(19))
    return bytes + [UInt8](repeating: 0, count: 20 - bytes.count)
  }
}

extension Double {
  fileprivate func clamped(_ low: Double, _ high: Double) -> Double { min(max(self, low), high) }
}
