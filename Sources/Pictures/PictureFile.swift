import CCairo

extension Picture {
  /// The greatest width and height in pixels of a PNG file.
  private static let mostPixels = 16_000.0

  /// Draws the picture with cairo, which the first call loads, and returns the file's bytes.
  package func file(_ format: PictureFormat) throws(PictureError) -> [UInt8] {
    guard let table = unsafe cue_cairo() else {
      let reason = unsafe String(cString: cue_cairo_fault())
      throw PictureError(description: "cairo (libcairo2) cannot be loaded: \(reason)")
    }
    let cairo = unsafe table.pointee
    if format == .png, max(width, height) > Self.mostPixels {
      throw PictureError(description: "it is too large for PNG: SVG and PDF have room")
    }
    let bytes = FileBytes()
    let surface =
      switch format {
      case .svg:
        unsafe cairo.cairo_svg_surface_create_for_stream(
          FileBytes.add, bytes.pointer, width, height)
      case .pdf:
        unsafe cairo.cairo_pdf_surface_create_for_stream(
          FileBytes.add, bytes.pointer, width, height)
      case .png:
        cairo.cairo_image_surface_create(
          CAIRO_FORMAT_RGB24, CInt(width.rounded(.up)), CInt(height.rounded(.up)))
      }
    if format == .svg {
      unsafe cairo.cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX)
    }
    let drawing = unsafe PictureDrawing(cairo, context: cairo.cairo_create(surface))
    drawing.draw(self)
    var statuses = unsafe [cairo.cairo_status(drawing.context)]
    if format == .png {
      unsafe statuses.append(
        cairo.cairo_surface_write_to_png_stream(surface, FileBytes.add, bytes.pointer))
    }
    unsafe cairo.cairo_destroy(drawing.context)
    unsafe cairo.cairo_surface_finish(surface)
    unsafe statuses.append(cairo.cairo_surface_status(surface))
    unsafe cairo.cairo_surface_destroy(surface)
    if let fault = statuses.first(where: { $0 != CAIRO_STATUS_SUCCESS }) {
      throw PictureError(
        description: unsafe cairo.cairo_status_to_string(fault).map { unsafe String(cString: $0) }
          ?? "cairo fails")
    }
    return bytes.bytes
  }
}

/// The bytes of a file that cairo writes.
private final class FileBytes {
  private(set) var bytes: [UInt8] = []

  /// This object, as cairo passes it to `add`.
  var pointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  static let add: cairo_write_func_t = { target, bytes, count in
    guard let target = unsafe target else { return CAIRO_STATUS_WRITE_ERROR }
    unsafe Unmanaged<FileBytes>.fromOpaque(target).takeUnretainedValue().bytes
      .append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
    return CAIRO_STATUS_SUCCESS
  }
}

/// Draws the marks of a picture into a cairo context.
@safe
private struct PictureDrawing {
  private let cairo: cue_cairo_functions
  let context: OpaquePointer?
  private let fonts: PictureFonts

  init(_ cairo: cue_cairo_functions, context: OpaquePointer?) {
    unsafe (self.cairo, self.context, fonts) = (
      cairo, context, PictureFonts(cairo, context: context)
    )
  }

  func draw(_ picture: Picture) {
    select(.paper)
    unsafe cairo.cairo_paint(context)
    for mark in picture.marks { draw(mark) }
  }

  private func draw(_ mark: Picture.Mark) {
    switch mark {
    case .polygon(let points, let fill):
      trace(points)
      select(fill)
      unsafe cairo.cairo_fill(context)
    case .line(let points, let color, let width):
      trace(points)
      stroke(color, width)
    case .curve(let a, let b, let c, let d, let color, let width):
      trace([a])
      unsafe cairo.cairo_curve_to(context, b.x, b.y, c.x, c.y, d.x, d.y)
      stroke(color, width)
    case .text(let text, let x, let y, let size, let color, let width):
      select(color)
      unsafe cairo.cairo_set_font_size(context, size)
      let text = fitted(Self.drawable(text), to: width)
      unsafe cairo.cairo_move_to(context, x, y)
      // Each part of the text ends where the next one begins.
      fonts.forEachRun(of: text) { unsafe cairo.cairo_show_text(context, $0) }
    case .image(let image): draw(image)
    case .moved(let marks, let distance):
      unsafe cairo.cairo_translate(context, 0, distance)
      for mark in marks { draw(mark) }
      unsafe cairo.cairo_translate(context, 0, -distance)
    }
  }

  private func select(_ color: PictureColor) {
    unsafe cairo.cairo_set_source_rgb(
      context, Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255)
  }

  private func trace(_ points: [PicturePoint]) {
    if let first = points.first { unsafe cairo.cairo_move_to(context, first.x, first.y) }
    for point in points.dropFirst() { unsafe cairo.cairo_line_to(context, point.x, point.y) }
  }

  private func stroke(_ color: PictureColor, _ width: Double) {
    select(color)
    unsafe cairo.cairo_set_line_width(context, width)
    unsafe cairo.cairo_stroke(context)
  }

  private func draw(_ image: PictureImage) {
    var pixels = image.pixels
    unsafe pixels.withUnsafeMutableBytes { bytes in
      let surface = unsafe cairo.cairo_image_surface_create_for_data(
        bytes.bindMemory(to: UInt8.self).baseAddress, CAIRO_FORMAT_RGB24, CInt(image.width),
        CInt(image.height), CInt(4 * image.width))
      unsafe cairo.cairo_set_source_surface(context, surface, image.x, image.y)
      unsafe cairo.cairo_paint(context)
      // Files that are written later keep a copy of the pixels from here on.
      unsafe cairo.cairo_surface_finish(surface)
      unsafe cairo.cairo_surface_destroy(surface)
    }
  }

  // MARK: Text

  /// Returns a text with “?” in the place of characters that cairo refuses or that end a C string.
  private static func drawable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map {
          let facts = $0.properties
          return facts.generalCategory == .control || facts.isNoncharacterCodePoint ? "?" : $0
        }))
  }

  /// Returns the width of a text in the font size of the context.
  private func width(of text: some StringProtocol) -> Double {
    var (width, extents) = (0.0, cairo_text_extents_t())
    fonts.forEachRun(of: text) {
      unsafe cairo.cairo_text_extents(context, $0, &extents)
      width += extents.x_advance
    }
    return width
  }

  /// Returns a text that is not wider than `limit`, with an ellipsis if it was cut off.
  private func fitted(_ text: String, to limit: Double) -> String {
    if width(of: text) <= limit { return text }
    var (fitting, excess) = (0, text.count)
    while fitting + 1 < excess {
      let middle = (fitting + excess) / 2
      if width(of: text.prefix(middle) + "…") <= limit { fitting = middle } else { excess = middle }
    }
    return text.prefix(fitting) + "…"
  }
}
