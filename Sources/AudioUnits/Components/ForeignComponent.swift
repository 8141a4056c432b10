package import CRealTime
package import RealTime

/// A component that the app has registered.
@safe
package struct ForeignComponent: Sendable {
  /// Makes an instance: the app's AudioComponentFactoryFunction. Returns nil if it cannot.
  let make: @Sendable (ComponentDescription) -> UnsafeMutablePointer<cue_foreign_interface>?
  /// The bytes of a format in the C API, and the format of such bytes.
  let encode: @Sendable (BusFormat) -> [UInt8]
  let decode: @Sendable ([UInt8]) -> BusFormat?

  package init(
    make:
      @escaping @Sendable (ComponentDescription)
      -> UnsafeMutablePointer<cue_foreign_interface>?,
    encode: @escaping @Sendable (BusFormat) -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) -> BusFormat?
  ) {
    unsafe self.make = make
    self.encode = encode
    self.decode = decode
  }
}
