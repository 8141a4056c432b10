import Foundation

/// A SoundFont with one program of one sample, for exact expectations. Written by hand, without Cuejack's code.
package struct TinySoundFont {
  package var samples: [Int16]
  /// The key at which the sample sounds at its rate.
  package var key = 60
  package var rate = 48_000
  package var loops = true
  package var bank = 0
  package var program = 0

  package init(_ samples: [Int16]) { self.samples = samples }

  /// A constant.
  package static let constant = TinySoundFont([Int16](repeating: 16_384, count: 4800))

  /// A sine of 480 Hz on key 69.
  package static let sine: TinySoundFont = {
    var font = TinySoundFont(
      (0..<4800).map { Int16(16_384 * sin(2 * .pi * Double($0) / 100)) })
    font.key = 69
    return font
  }()

  package var data: Data {
    let zeros = [UInt8](repeating: 0, count: 46)
    let end = samples.count
    func name(_ text: String) -> [UInt8] {
      Array(text.utf8) + [UInt8](repeating: 0, count: 20 - text.utf8.count)
    }
    let info =
      chunk("ifil", little(2, 2) + little(1, 2)) + chunk("isng", Array("EMU8000\0".utf8))
      + chunk("INAM", Array("Tiny".utf8))
    let sound = samples.flatMap { little(Int($0), 2) } + zeros + zeros
    let generators =
      little(54, 2) + little(loops ? 1 : 0, 2) + little(53, 2) + little(0, 2) + little(0, 4)
    let data =
      chunk(
        "phdr",
        name("Tiny") + little(program, 2) + little(bank, 2) + little(0, 14) + name("EOP")
          + little(0, 4) + little(1, 2) + little(0, 12))
      + chunk("pbag", little(0, 4) + little(1, 2) + little(0, 2)) + chunk("pmod", little(0, 10))
      + chunk("pgen", little(41, 2) + little(0, 2) + little(0, 4))
      + chunk("inst", name("Tiny") + little(0, 2) + name("EOI") + little(1, 2))
      + chunk("ibag", little(0, 4) + little(2, 2) + little(0, 2)) + chunk("imod", little(0, 10))
      + chunk("igen", generators)
      + chunk(
        "shdr",
        name("Tiny") + little(0, 4) + little(end, 4) + little(0, 4) + little(end, 4)
          + little(rate, 4) + [UInt8(key), 0] + little(0, 2) + little(1, 2) + name("EOS")
          + little(0, 26))
    return Data(
      chunk(
        "RIFF",
        Array("sfbk".utf8) + chunk("LIST", Array("INFO".utf8) + info)
          + chunk("LIST", Array("sdta".utf8) + chunk("smpl", sound))
          + chunk("LIST", Array("pdta".utf8) + data)))
  }

  /// The same as a DLS file of level 1.
  package var dls: Data {
    func list(_ name: String, _ content: [UInt8]) -> [UInt8] {
      chunk("LIST", Array(name.utf8) + content)
    }
    let title = list("INFO", chunk("INAM", Array("Tiny\0".utf8)))
    let loop = little(16, 4) + little(0, 4) + little(0, 4) + little(samples.count, 4)
    let sample = chunk(
      "wsmp",
      little(20, 4) + little(key, 2) + little(0, 2) + little(0, 4) + little(0, 4)
        + little(loops ? 1 : 0, 4) + (loops ? loop : []))
    let format =
      little(1, 2) + little(1, 2) + little(rate, 4) + little(2 * rate, 4) + little(2, 2)
      + little(16, 2)
    let wave = list(
      "wave",
      chunk("fmt ", format) + sample + chunk("data", samples.flatMap { little(Int($0), 2) })
        + title)
    let all = little(0, 2) + little(127, 2)
    let region = list(
      "rgn ",
      chunk("rgnh", all + all + little(0, 4)) + sample
        + chunk("wlnk", little(0, 4) + little(1, 4) + little(0, 4)))
    let instrument = list(
      "ins ",
      chunk("insh", little(1, 4) + little(bank << 8, 4) + little(program, 4))
        + list("lrgn", region) + title)
    return Data(
      chunk(
        "RIFF",
        Array("DLS ".utf8) + chunk("colh", little(1, 4)) + list("lins", instrument)
          + chunk("ptbl", little(8, 4) + little(1, 4) + little(0, 4)) + list("wvpl", wave) + title))
  }

  /// Writes the SoundFont to a folder, and returns its path.
  package func write(to folder: URL, _ name: String = "tiny.sf2") throws -> String {
    let file = folder.appendingPathComponent(name)
    try data.write(to: file)
    return file.path
  }

  private func little(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
  }

  private func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array(name.utf8) + little(content.count, 4) + content + (content.count % 2 == 0 ? [] : [0])
  }
}

/// The bank of the Debian package timgm6mb-soundfont.
package let generalMIDI = "/usr/share/sounds/sf2/TimGM6mb.sf2"
