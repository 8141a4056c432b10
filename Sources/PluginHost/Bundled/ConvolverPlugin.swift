import Graph

/// The library's plugin that convolves sound with an impulse response. Its values are in the source of convolver.lv2.
package enum ConvolverPlugin {
  package static let uri = "urn:cuejack:plugins:convolver"

  /// Checks that an instance has its impulse response, with the trim and the pre-delay of its controls. No cycle may run
  /// the instance.
  ///
  /// - Parameter path: The path for messages; nil if no file was named.
  /// - Throws: `HostError.fileNotLoaded`.
  static func check(_ instance: any HostedPlugin, path: String?) throws(HostError) {
    guard instance.description.uri == uri else { return }
    let (trim, delay) = (try instance.value(of: "trim"), try instance.value(of: "predelay"))
    if trim != 0 || delay != 0 {
      // The file was loaded before the controls had these values. A running plugin would fade to the other response.
      try instance.restore(instance.capture())
    }
    guard let path, try instance.currentValue(of: "status") == 2 else { return }
    throw .fileNotLoaded(
      "\(path): the convolver cannot load it: it takes a sound file that libsndfile reads, of 1, 2 or 4 channels and "
        + "up to 1048576 frames; `cuejack convert` makes one"
    )
  }
}
