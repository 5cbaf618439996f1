import { XmlElement, parseXml } from '@rgrove/parse-xml'

/** The root element of the store's response; undefined when it is not XML, such as an empty answer or a proxy's page. */
export function parseResponse(text: string): XmlElement | undefined {
  try {
    // S3 sends spaces to keep the connection open while it completes an upload.
    return parseXml(text.trimStart()).root ?? undefined
  } catch {
    return undefined
  }
}

export function childrenOf(parent: XmlElement | undefined, name: string): XmlElement[] {
  return (parent?.children ?? []).filter((child) => child instanceof XmlElement).filter((child) => child.name === name)
}

/** The text of the first child of that name. */
export function textOf(parent: XmlElement | undefined, name: string): string | undefined {
  return childrenOf(parent, name)[0]?.text
}
