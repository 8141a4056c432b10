import FileSupport
import Testing

@testable import Files

/// Texts of files in their encodings.
@Suite struct ID3FramesTests {
  private func size(_ count: Int) -> [UInt8] {
    [21, 14, 7, 0].map { UInt8(count >> $0 & 0x7F) }
  }

  private func tag(_ version: UInt8, _ body: [UInt8], flags: UInt8 = 0) -> [UInt8] {
    Array("ID3".utf8) + [version, 0, flags] + size(body.count) + body
  }

  private func frame(_ id: String, _ content: [UInt8], version: UInt8 = 3) -> [UInt8] {
    let count =
      version == 4 ? size(content.count) : [UInt8](content.count, count: 4, bigEndian: true)
    return Array(id.utf8) + count + [0, 0] + content
  }

  private func utf16(_ text: String, bigEndian: Bool) -> [UInt8] {
    text.utf16.flatMap { [UInt8]($0, count: 2, bigEndian: bigEndian) }
  }

  @Test func eachFrameHasItsEncoding() {
    let text = "Café Мир 音"
    let little: [UInt8] = [1, 0xFF, 0xFE] + utf16(text, bigEndian: false)
    let big: [UInt8] = [1, 0xFE, 0xFF] + utf16(text, bigEndian: true)
    let three = ID3Frames.tags(
      tag(
        3,
        frame("TIT2", [0] + Array("Caf".utf8) + [0xE9]) + frame("TPE1", little)
          + frame("TALB", big) + frame("XXXX", [0, 1])))
    expectEqual(three, ["title": "Café", "artist": text, "album": text])
    let four = ID3Frames.tags(
      tag(
        4,
        frame("TIT2", [2] + utf16(text, bigEndian: true), version: 4)
          + frame("TPE1", [3] + Array("one\0two".utf8), version: 4)
          + frame("COMM", [3] + Array("engiTunNORM\0 0001".utf8), version: 4)
          + frame("COMM", [3] + Array("eng\0a comment".utf8), version: 4)))
    expectEqual(four, ["title": text, "artist": "one;two", "comments": "a comment"])
    let two = ID3Frames.tags(tag(2, Array("TT2".utf8) + [0, 0, 5, 0] + Array("Four".utf8)))
    expectEqual(two, ["title": "Four"])
  }

  @Test func aTagWithoutSynchronizationIsRestored() {
    // The zero behind 0xFF is not part of the text.
    let frame = Array("TIT2".utf8) + [0, 0, 0, 3, 0, 0, 0, 0xFF, 0, 0x41]
    expectEqual(ID3Frames.tags(tag(3, frame, flags: 0x80)), ["title": "ÿA"])
  }

  @Test func damagedTagsGiveWhatIsWhole() {
    let whole = frame("TIT2", [0] + Array("Title".utf8))
    let all = tag(3, whole + frame("TPE1", [0] + Array("Artist".utf8)))
    for count in 0...all.count {
      let tags = ID3Frames.tags(Array(all.prefix(count)))
      expectEqual(tags["title"], (count >= 10 + whole.count ? "Title" : nil), "\(count)")
    }
    for flags in 0..<UInt8.max { _ = ID3Frames.tags(tag(4, whole + [0xFF], flags: flags)) }
  }

  @Test func textsFitTheirFields() {
    expectEqual(FileText.encoded("Café", most: 5), Array("Café".utf8))
    expectEqual(FileText.encoded("Café", most: 4), Array("Caf".utf8) + [0xE9])
    expectEqual(FileText.encoded("Café", most: 3), Array("Caf".utf8))
    expectEqual(FileText.encoded("音音", most: 5), Array("音".utf8))
    let every = [UInt8](0x80...0xFF)
    for encoding in [FileText.Encoding.windows, .macintosh] {
      let text = FileText.decoded(every, else: encoding)
      expectEqual(text.unicodeScalars.count, 128)
      expectEqual(Set(text.unicodeScalars).count, 128)
    }
  }
}
