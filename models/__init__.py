"""Language models on this machine; imports neither `memory` nor `atlas_desktop`."""
