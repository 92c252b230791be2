import * as React from "react";
import type { SVGProps } from "react";
const SvgKingfisher = (props: SVGProps<SVGSVGElement>) => <svg viewBox="0 0 9 9" {...props}><title>{"Kingfisher"}</title><path d="M0 0h9v9z" fill="#024" /></svg>;
export default SvgKingfisher;
