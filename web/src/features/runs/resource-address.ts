/** A step such as `net` or `net["a"]`; a key may have any characters. */
const MODULE_STEP = /[^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?/g

/**
 * The address of a resource as the engine takes it: `module.net.aws_subnet.a`. The API leaves out the keyword `module`,
 * and gives the names of the modules beside the address.
 */
export function engineAddress({ address, module }: { address: string; module: string }) {
  if (module === 'root' || !address.startsWith(`${module}.`)) return address
  const steps = module.match(MODULE_STEP) ?? []
  return steps.map((step) => `module.${step}`).join('.') + address.slice(module.length)
}
