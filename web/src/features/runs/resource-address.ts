/** A step such as `net` or `net["a"]`; a key may contain any characters. */
const MODULE_STEP = /[^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?/g

/** The engine's address of a resource, `module.net.aws_subnet.a`; the API omits the keyword `module`. */
export function engineAddress({ address, module }: { address: string; module: string }) {
  if (module === 'root' || !address.startsWith(`${module}.`)) return address
  const steps = module.match(MODULE_STEP) ?? []
  return steps.map((step) => `module.${step}`).join('.') + address.slice(module.length)
}
