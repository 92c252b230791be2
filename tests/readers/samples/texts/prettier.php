<?php
// The Kingfisher gauge, über Nacht.
function level()
{
    $a = 1;
    return $a;
}
