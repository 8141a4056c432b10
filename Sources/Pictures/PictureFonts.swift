import CCairo

/// The sans-serif font of the system, and the fonts that have the characters that it lacks.
@safe
final class PictureFonts {
  private let cairo: cue_cairo_functions
  private let context: OpaquePointer?
  private let wanted: OpaquePointer?
  /// The system's fonts from the most to the least wanted, without those that add no character.
  private let fonts: UnsafeMutablePointer<FcFontSet>?
  /// The fonts that a text has needed, by their position in `fonts`.
  private var faces: [Int: OpaquePointer] = unsafe [:]

  /// - Parameter context: Where texts are drawn.
  init(_ cairo: cue_cairo_functions, context: OpaquePointer?) {
    unsafe (self.cairo, self.context) = (cairo, context)
    unsafe wanted = cairo.FcNameParse("sans-serif")
    _ = unsafe cairo.FcConfigSubstitute(nil, wanted, FcMatchPattern)
    unsafe cairo.FcDefaultSubstitute(wanted)
    var result = FcResultMatch
    unsafe fonts = cairo.FcFontSort(nil, wanted, 1, nil, &result)
  }

  deinit {
    unsafe faces.values.forEach { unsafe cairo.cairo_font_face_destroy($0) }
    if let fonts = unsafe fonts { unsafe cairo.FcFontSetDestroy(fonts) }
    unsafe cairo.FcPatternDestroy(wanted)
  }

  /// Calls `body` with each part of a text after selecting the font that has its characters.
  func forEachRun(of text: some StringProtocol, _ body: (String) -> Void) {
    var (run, font) = ("", 0)
    func end() {
      if run.isEmpty { return }
      select(font)
      body(run)
      run = ""
    }
    for scalar in text.unicodeScalars {
      let next = self.font(with: scalar)
      if next != font { end() }
      font = next
      run.unicodeScalars.append(scalar)
    }
    end()
  }

  /// Returns the first font that has a character; the first of all if none has it.
  private func font(with scalar: Unicode.Scalar) -> Int {
    guard let fonts = unsafe fonts?.pointee else { return 0 }
    return unsafe (0..<Int(fonts.nfont)).first { font in
      var characters: OpaquePointer?
      return unsafe cairo.FcPatternGetCharSet(fonts.fonts[font], FC_CHARSET, 0, &characters)
        == FcResultMatch && cairo.FcCharSetHasChar(characters, scalar.value) != 0
    } ?? 0
  }

  private func select(_ font: Int) {
    if unsafe faces[font] == nil, let fonts = unsafe fonts?.pointee, unsafe font < fonts.nfont {
      let pattern = unsafe cairo.FcFontRenderPrepare(nil, wanted, fonts.fonts[font])
      unsafe faces[font] = cairo.cairo_ft_font_face_create_for_pattern(pattern)
      unsafe cairo.FcPatternDestroy(pattern)
    }
    unsafe cairo.cairo_set_font_face(context, faces[font])
  }
}
