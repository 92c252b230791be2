import * as React from "react";
import type { SVGProps } from "react";
import { Ref, forwardRef, memo } from "react";
interface SVGRProps {
  title?: string;
  titleId?: string;
}
const SvgKingfisher = ({
  title,
  titleId,
  ...props
}: SVGProps<SVGSVGElement> & SVGRProps, ref: Ref<SVGSVGElement>) => <svg viewBox="0 0 9 9" ref={ref} aria-labelledby={titleId} {...props}>{title === undefined ? <title id={titleId}>{"Kingfisher"}</title> : title ? <title id={titleId}>{title}</title> : null}<path d="M0 0h9v9z" fill="#024" /></svg>;
const ForwardRef = forwardRef(SvgKingfisher);
const Memo = memo(ForwardRef);
export default Memo;
