/// Why an option names no port.
struct PortError: Error, CustomStringConvertible {
  let description: String
}
