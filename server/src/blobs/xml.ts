import { XmlElement, parseXml } from '@rgrove/parse-xml'

/** Root element of a response; undefined if it is not XML, such as an empty body or a proxy's page. */
export function parseResponse(text: string): XmlElement | undefined {
  try {
    // S3 sends spaces as keep-alive while it completes an upload.
    return parseXml(text.trimStart()).root ?? undefined
  } catch {
    return undefined
  }
}

export function childrenOf(parent: XmlElement | undefined, name: string): XmlElement[] {
  return (parent?.children ?? []).filter((child) => child instanceof XmlElement).filter((child) => child.name === name)
}

export function textOf(parent: XmlElement | undefined, name: string): string | undefined {
  return childrenOf(parent, name)[0]?.text
}
