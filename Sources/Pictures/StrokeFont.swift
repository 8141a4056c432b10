/// A font of straight strokes for pictures in PNG. It has the characters of ASCII; accents are left
/// out, and every other character is a box.
enum StrokeFont {
  /// A glyph: its width, and its strokes as points on a grid. A capital letter is 6 units high: y
  /// is 0 at its top, 6 on the baseline, and 8 at the bottom of a descender.
  struct Glyph {
    let width: Double
    let strokes: [[PicturePoint]]
  }

  /// Units of the grid in a line of the font's height.
  private static let unitsPerSize = 8.5
  /// Units between two glyphs.
  private static let gap = 1.5

  /// Returns the pixels per unit at a font size.
  static func scale(size: Double) -> Double { size / unitsPerSize }

  /// Returns the width of a text in pixels.
  static func width(of text: String, size: Double) -> Double {
    text.unicodeScalars.reduce(0) { $0 + (glyph($1).width + gap) * scale(size: size) }
  }

  /// Returns the advance of a glyph in pixels.
  static func advance(_ glyph: Glyph, size: Double) -> Double {
    (glyph.width + gap) * scale(size: size)
  }

  /// Returns a text that is not wider than `width`, with an ellipsis if it was cut off.
  static func fitted(_ text: String, size: Double, width limit: Double) -> String {
    if width(of: text, size: size) <= limit { return text }
    var result = ""
    var total = width(of: "...", size: size)
    for character in text {
      total += width(of: String(character), size: size)
      if total > limit { return result + "..." }
      result.append(character)
    }
    return result
  }

  /// Returns the glyph of a character.
  static func glyph(_ scalar: Unicode.Scalar) -> Glyph {
    if scalar.value < 0x7F, scalar.value > 0x20 {
      return glyphs[Int(scalar.value) - 0x21]
    }
    switch scalar.value {
    case 0x20, 0xA0: return Glyph(width: 2, strokes: [])
    case 0x300..<0x370: return Glyph(width: -gap, strokes: [])
    case 0xC0..<0x100:
      // The letters of Latin-1 without their accents.
      let letters = Array(
        "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYPsaaaaaaaceeeeiiiidnooooo/ouuuuypy".unicodeScalars)
      return glyph(letters[Int(scalar.value) - 0xC0])
    case 0x2013, 0x2014: return glyph("-")
    case 0x2018, 0x2019: return glyph("'")
    case 0x201C, 0x201D: return glyph("\"")
    default: return box
    }
  }

  private static let box = make("0006464000")

  /// Makes a glyph from its strokes: two digits, x and y, for each point.
  private static func make(_ text: String) -> Glyph {
    let strokes = text.split(separator: " ").map { stroke in
      let digits = stroke.utf8.map { Double($0) - 48 }
      return stride(from: 0, to: digits.count - 1, by: 2).map {
        PicturePoint(digits[$0], digits[$0 + 1])
      }
    }
    return Glyph(width: strokes.joined().map(\.x).max() ?? 0, strokes: strokes)
  }

  /// From “!” to “~”.
  private static let glyphs = [
    "0004 0606", "0002 1012", "1115 3135 0242 0444", "3111021323342505 2026",
    "4006 0010110100 3545463635", "4602011021220405162644", "0002", "10020517", "00121507",
    "0224 2204 1115", "0343 2125", "1607", "0323", "0606", "0730", "102031352616050110",
    "011016 0626", "01102031320636", "003012223335261605", "26200434", "300002223335261605",
    "3120100105162635342303", "003016", "13020110203132231304051626353423",
    "0516263531201001021333", "0303 0606", "1313 1607", "310335", "0232 0434", "013305",
    "01102031321314 1616", "453616050110304144242242", "062046 1434", "003041423303 334445360600",
    "4130100105163645", "00204244260600", "40000646 0333", "400006 0333", "41301001051636454323",
    "0006 4046 0343", "0006", "3035261605", "0006 400346", "000636", "0600234046", "06004640",
    "103041453616050110", "06003041423303", "103041453616050110 2446", "06003041423303 2346",
    "413010010213334445361605", "0040 2026", "000516364540", "002640", "0016315660", "0046 4006",
    "002340 2326", "00400646", "10000717", "0037", "00101707", "021022", "0747", "0011",
    "3236 3322120305162635", "0006 0312223335261605", "3322120305162635", "3036 3322120305162635",
    "043433221203051636", "30201116 0232", "3237281807 3322120305162635", "0006 0312223336",
    "0206 0000", "121708 1010", "0006 320436", "000516", "0206 03122326 23324346",
    "0206 0312223336", "122233352616050312", "0208 0312223335261605", "3238 3322120305162635",
    "0206 031222", "3212031424352606", "10152636 0232", "0205162635 3236", "022642", "0216233642",
    "0236 3206", "0226 421808", "02320636", "20111304151627", "0007", "00111324151607", "03122332",
  ].map(make)
}
