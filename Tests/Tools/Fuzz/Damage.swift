/// A random number generator (SplitMix64), determined by a seed and a case number.
struct Dice: RandomNumberGenerator {
  private var state: UInt64
  /// The number of the case.
  let number: Int
  init(seed: UInt64, case number: Int) {
    self.number = number
    state = seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) &* 0xD1B5_4A32_D192_ED03
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  /// Returns a number in 0..<count, or 0 if `count` is 0.
  mutating func roll(_ count: Int) -> Int {
    count > 0 ? Int.random(in: 0..<count, using: &self) : 0
  }
  /// Returns true with a probability of 1 / `count`.
  mutating func once(in count: Int) -> Bool { roll(count) == 0 }
}

extension Corpus {
  /// Places of a file that `mutated` changes, and those at which it cuts.
  static let changedPlaces = 4096
  static let cuts = 512

  /// Returns mutation `number`: a file with one byte changed, or cut. Consecutive numbers give each
  /// mutation of each file.
  func mutated(_ number: Int) -> File {
    let (index, kind) = number.quotientAndRemainder(dividingBy: Self.changedPlaces + Self.cuts)
    let file = files[index % files.count]
    var bytes = file.bytes
    if kind >= Self.changedPlaces {
      bytes.removeLast(bytes.count - bytes.count * (kind - Self.changedPlaces) / Self.cuts)
    } else if kind < bytes.count {
      // Each round over the files changes the byte in another way.
      bytes[kind] ^= [0xFF, 0x01, 0x80, 0x10][index / files.count % 4]
    }
    return File(name: file.name, bytes: bytes)
  }

  /// Returns a damaged file.
  func damaged(_ dice: inout Dice) -> File {
    let file = files[dice.roll(files.count)]
    var bytes = file.bytes
    for _ in 0...dice.roll(8) { damage(&bytes, &dice) }
    return File(name: file.name, bytes: bytes)
  }

  private func damage(_ bytes: inout [UInt8], _ dice: inout Dice) {
    // Prefer the start of the file: headers are short, and damage matters there.
    let reach = dice.once(in: 3) ? bytes.count : min(bytes.count, 4 << dice.roll(9))
    let position = dice.roll(reach)
    func range(_ dice: inout Dice, upTo limit: Int) -> Range<Int> {
      let start = dice.roll(bytes.count)
      return start..<min(bytes.count, start + dice.roll(limit) + 1)
    }
    guard !bytes.isEmpty else { return bytes.append(contentsOf: "RIFF".utf8) }
    switch dice.roll(12) {
    case 0, 1: bytes[position] ^= 1 << UInt8(dice.roll(8))
    case 2: bytes[position] = UInt8(dice.roll(256))
    case 3: bytes[position] = [0, 1, 0x7F, 0x80, 0xFF][dice.roll(5)]
    case 4, 5: putNumber(&bytes, at: position, &dice)
    case 6: bytes.removeLast(dice.roll(bytes.count))
    case 7: bytes.removeSubrange(range(&dice, upTo: dice.once(in: 2) ? 16 : 2000))
    case 8:
      let piece = bytes[range(&dice, upTo: dice.once(in: 2) ? 64 : 2000)]
      bytes.insert(contentsOf: piece, at: position)
    case 9: swapChunks(&bytes, &dice)
    case 10:
      // The start of this file with the end of another one.
      let other = files[dice.roll(files.count)].bytes
      bytes = Array(bytes[..<position]) + other[dice.roll(other.count)...]
    default:
      let rubbish = (0...dice.roll(300)).map { _ in UInt8(dice.roll(256)) }
      bytes.replaceSubrange(position..<min(bytes.count, position + rubbish.count), with: rubbish)
    }
    if bytes.count > 1 << 18 { bytes.removeLast(bytes.count - 1 << 18) }
  }

  /// Writes a number that is critical for sizes and counts.
  private func putNumber(_ bytes: inout [UInt8], at position: Int, _ dice: inout Dice) {
    let width = [1, 2, 3, 4, 4, 8][dice.roll(6)]
    let top = UInt64(1) << (8 * width - 1)
    let values: [UInt64] = [
      0, 1, 2, 8, 0xFF, UInt64(bytes.count), UInt64(bytes.count) &+ 1, top, top &- 1,
      top &* 2 &- 1, top &* 2 &- 4, dice.next(), UInt64(dice.roll(1 << 16)), 0x7FFF_FFF0,
    ]
    let value = values[dice.roll(values.count)]
    let isBigEndian = dice.once(in: 2)
    for i in 0..<width where position + i < bytes.count {
      bytes[position + i] = UInt8(
        truncatingIfNeeded: value >> (8 * (isBigEndian ? width - 1 - i : i)))
    }
  }

  /// Swaps two ranges of bytes that start with what looks like a chunk name.
  private func swapChunks(_ bytes: inout [UInt8], _ dice: inout Dice) {
    let names = bytes.indices.dropLast(4).filter { i in
      bytes[i..<i + 4].allSatisfy { (0x20..<0x7F).contains($0) }
    }.prefix(64)
    guard names.count > 1 else { return }
    let a = names[dice.roll(names.count)]
    let b = names[dice.roll(names.count)]
    guard a < b else { return }
    let count = min(b - a, bytes.count - b, 8 << dice.roll(8))
    let first = Array(bytes[a..<a + count])
    bytes.replaceSubrange(a..<a + count, with: Array(bytes[b..<b + count]))
    bytes.replaceSubrange(b..<b + count, with: first)
  }
}
