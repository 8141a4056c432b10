import Host
import Testing
