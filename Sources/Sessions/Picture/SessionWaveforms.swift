/// A source of waveforms, by the path of a file as the document has it.
package protocol SessionWaveforms {
  /// Returns the waveform of a file; nil if the file cannot be read.
  func waveform(of file: String) -> SessionWaveform?
}
